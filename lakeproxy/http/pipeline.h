#pragma once

// The order in which a request is checked, in one list (pipeline.cc), and the last stage of
// those that change something (idempotency.cc).

#include <optional>

#include "base/http/server.h"
#include "base/metrics/registry.h"
#include "lakeproxy/http/route.h"

namespace lake::http {

/// The handler of one event loop. `services` and `metrics` outlive it.
[[nodiscard]] base::http::Handler make_handler(Services& services,
                                               base::metrics::Registry& metrics);

/// Answers to requests that reach no handler.
[[nodiscard]] base::http::Refusal make_refusal();

// A client that lost the answer to a change sends it again under the same
// Idempotency-Key. The change is made once; whoever comes later gets what the
// first one was told, or would have been told.
// Source: Iceberg REST description, parameter "Idempotency-Key".

/// The key of a request that changes something; nothing when it has none.
/// Errors: kInvalid  not a UUID of version 7.
[[nodiscard]] base::Result<std::optional<model::IdempotencyKey>> idempotency_key_of(
    const Call& call);

using Act = base::Task<base::http::Response> (*)(base::RequestContext, Call*);

/// `act` for a call with a key, or what became of it before. A key of another
/// request is 422. 5xx and what may be tried again are not kept.
[[nodiscard]] base::Task<base::http::Response> act_once(base::RequestContext context, Call* call,
                                                        Act act);

/// What tells the answer of a change again that was made; null for none.
[[nodiscard]] Action remake_of(const Route& route);

}  // namespace lake::http
