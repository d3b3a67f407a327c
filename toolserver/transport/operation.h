#pragma once

// What a READY session may ask for beside its own upkeep. Whoever runs the
// operations sees a request with its principal and answers with a payload; it
// knows neither sockets nor keys.
// Source: docs/wire-3.0.md, section 9.

#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "base/json/json.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "toolserver/model/envelope.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/principal.h"
#include "toolserver/session/session_state.h"

namespace tool::transport {

/// The session that asks.
struct Caller {
  Principal principal;
  std::string session_id;
  std::string peer;  ///< Network address, without port.
};

/// Steps of a running request, sent at once. Belongs to the session's loop.
class EventSink {
 public:
  virtual ~EventSink() = default;
  /// Dropped while the client does not read, so that a chatty tool cannot end
  /// the session.
  virtual void progress(base::json::Object payload) = 0;
  /// Waits until the client has taken most of what was sent before.
  /// Errors: E_CANCELLED  the connection has ended.
  [[nodiscard]] virtual base::Task<Outcome<void>> chunk(base::json::Object payload) = 0;
};

/// A refusal with the `data` that its err carries.
struct Refusal {
  Fault fault;
  base::json::Object data;
};
using Payload = std::variant<base::json::Object, WrittenPayload>;
using Answer = std::expected<Payload, Refusal>;

/// Safe to call from any loop.
class Operations {
 public:
  virtual ~Operations() = default;
  /// Runs one request to its end. `context` has no deadline yet. Cancelled when
  /// the caller cancels it or goes away. `events` outlives the task.
  [[nodiscard]] virtual base::Task<Answer> run(base::RequestContext context,
                                               std::shared_ptr<const Caller> caller, session::Op op,
                                               Envelope request, EventSink& events) = 0;
};

}  // namespace tool::transport
