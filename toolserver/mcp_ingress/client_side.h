#pragma once

// The client of a request while it runs: what can be told to it, and, before
// 2026-07-28 or by a task, asked of it. Whoever runs the request knows neither HTTP
// nor standard output.

#include <string>

#include "base/json/json.h"
#include "base/runtime/task.h"
#include "toolserver/mcp/message.h"
#include "toolserver/model/fault.h"

namespace tool::mcp_ingress {

/// Belongs to the event loop of the request.
class ClientSide {
 public:
  virtual ~ClientSide() = default;

  /// Sent before the answer; dropped while the client does not take what was sent.
  virtual void tell(mcp::Notification notification) = 0;
  /// Whether ask() can have an answer.
  [[nodiscard]] virtual bool can_be_asked() const = 0;
  /// Questions to the client by their names, {name: {method, params}}, and its results
  /// by the same names.
  /// Errors: E_CONSENT  it answered with an error; E_TIMEOUT  nobody answered;
  /// E_CANCELLED; E_BUSY  too many questions at once.
  [[nodiscard]] virtual base::Task<Outcome<base::json::Object>> ask(
      base::json::Object questions) = 0;
};

}  // namespace tool::mcp_ingress
