#pragma once

// The order in which a request is checked, in one list (pipeline.cc), and the key by which a
// client names its change (idempotency.cc).

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

/// The Idempotency-Key of a request that changes something; nothing when it has none.
/// Errors: kInvalid  not a UUID of version 7.
[[nodiscard]] base::Result<std::optional<model::IdempotencyKey>> idempotency_key_of(
    const Call& call);

}  // namespace lake::http
