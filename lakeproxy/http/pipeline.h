#pragma once

// The order in which a request is checked, in one list (pipeline.cc).

#include "base/http/server.h"
#include "base/metrics/registry.h"
#include "lakeproxy/http/route.h"

namespace lake::http {

/// The handler of one event loop. `services` and `metrics` outlive it.
[[nodiscard]] base::http::Handler make_handler(Services& services,
                                               base::metrics::Registry& metrics);

/// Answers to requests that reach no handler.
[[nodiscard]] base::http::Refusal make_refusal();

}  // namespace lake::http
