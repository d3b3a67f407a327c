#pragma once

// A call of a tool as its request asks for it, round by round; of the dispatcher's
// own files.

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/json/json.h"
#include "toolserver/mcp_ingress/elicited_consent.h"
#include "toolserver/mcp_ingress/request_state.h"
#include "toolserver/model/invocation.h"

namespace tool::mcp_ingress {

/// A call, and what its client has sent with it.
struct Round {
  StateOwner owner;
  std::optional<Inputs> inputs;
  std::shared_ptr<ElicitedConsent> consent;  ///< Null: the client's user is not asked.
};

struct ToolWork {
  std::string name;
  base::json::Object arguments;
  Round round;
  Progress progress;
  std::shared_ptr<const Note> note;
  std::string call_id;                                 ///< Of a task; else empty.
  std::optional<std::chrono::milliseconds> time = {};  ///< Likewise.
  Offer offer = Offer::kTool;                          ///< What `name` is, as in ToolCall.
};

struct Call;
struct Reply;
/// The answer of a foreign server, as resources/read or prompts/get gives it.
[[nodiscard]] Reply offer_reply(const Call& call, const ToolWork& work, ToolResult result);

}  // namespace tool::mcp_ingress
