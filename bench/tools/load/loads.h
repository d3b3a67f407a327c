#pragma once

// The loads that the service is put under. Each gives a report as one line of
// JSON; the first refusal ends it, since figures of refusals are worth nothing.

#include <cstddef>
#include <string>

#include "base/core/clock.h"
#include "base/runtime/task.h"
#include "toolserver/client/client_options.h"
#include "toolserver/model/fault.h"
#include "toolserver/session/session_state.h"

namespace bench {

/// One request, again and again.
struct CallLoad {
  tool::session::Op op = tool::session::Op::kInvoke;
  base::json::Object payload;
  std::size_t count = 10'000;
  std::size_t in_flight = 1;  ///< Over all connections; a multiple of them.
  std::size_t connections = 1;
};

/// What the loads have in common; all of it outlives them.
struct Bench {
  const tool::client::ClientOptions& options;
  const base::Clock& clock;
  base::Random& random;
};

/// Calls, a tenth more of them before the clock runs. The report has also the
/// bytes of the last answer's payload. A tool that answers an error ends the load.
[[nodiscard]] base::Task<tool::Outcome<std::string>> run_calls(Bench bench, CallLoad load);

/// Sessions one after another, each from the TCP connection to READY and closed
/// in order; a time is that up to READY.
[[nodiscard]] base::Task<tool::Outcome<std::string>> run_handshakes(Bench bench, std::size_t count);

/// Opens `count` sessions, prints a line, and keeps them idle until the
/// standard input ends.
[[nodiscard]] base::Task<tool::Outcome<std::string>> run_idle(Bench bench, std::size_t count);

}  // namespace bench
