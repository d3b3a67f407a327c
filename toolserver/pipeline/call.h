#pragma once

// What goes into the pipeline and what comes out: the only two values that the
// sessions, the MCP ingress and the workflows need of it.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.h"
#include "base/runtime/request_context.h"
#include "toolserver/audit/record.h"
#include "toolserver/model/invocation.h"

namespace tool::pipeline {

/// How the bytes of large content reach the caller.
enum class ContentForm : std::uint8_t {
  kWhole,     ///< All of it in the answer.
  kStreamed,  ///< Parts over kStreamedPart before the answer, in chunks.
};
inline constexpr std::size_t kStreamedPart = 64 << 10;

class ConsentHook;

/// A call as its session took it from the wire: parsed, authenticated, not
/// replayed. Nothing else is checked yet.
struct PipelineCall {
  std::uint64_t log_id = 0;  ///< Of the request in the logs.
  std::string request_id;    ///< The caller's ULID.
  std::string session_id;
  std::string peer;  ///< Network address, without port.
  std::string traceparent;
  /// Never null; its expires_at must be set.
  std::shared_ptr<const Principal> principal;
  Mode mode = Mode::kSimple;
  std::string tool;  ///< As the caller wrote it.
  base::json::Object args;
  std::optional<std::chrono::milliseconds> deadline;  ///< What the caller asks for.
  /// In place of the longest time that a call may ask for: nobody waits for the answer
  /// of this one on a connection.
  std::optional<std::chrono::milliseconds> most = {};
  ContentForm form = ContentForm::kWhole;
  bool dry_run = false;  ///< All checks but consent, and the tool is not run.
  /// The key is empty or see is_idempotency_key(); the age is what a node says that
  /// forwards the call again.
  Idempotency idem = {};
  std::uint32_t hop = 0;  ///< Nodes that forwarded it.
  // What a caller can have who can be asked; see Invocation.
  std::optional<Inputs> inputs = {};
  base::json::Object client = {};
  std::shared_ptr<const Note> note = {};
  /// Asks the caller's own side for consent, where the service has no hook. Null:
  /// it cannot be asked.
  std::shared_ptr<ConsentHook> asker = {};
  /// Of a step of a workflow: the run and the step, for the record.
  std::string flow = {};
  /// Places of `args` (JSON pointers) that hold what another tool answered: in no
  /// record, since whoever may read those of this tool need not know the other's.
  std::vector<std::string> taken = {};
  /// Of a call that other nodes forwarded; null for one of this node's own callers.
  std::shared_ptr<const Forwarded> forwarded = {};
  /// What `tool` names: nothing of another kind is found.
  Offer offer = Offer::kTool;
};

struct Usage {
  std::chrono::milliseconds time{};  ///< In the tool.
  std::size_t bytes = 0;             ///< Of the answer, before the envelope.
};

/// A key that a caller names a call by, so that it is done once: 1 to 128 visible
/// characters of ASCII.
[[nodiscard]] inline bool is_idempotency_key(std::string_view text) {
  return !text.empty() && text.size() <= 128 &&
         std::ranges::all_of(text, [](char c) { return c >= '!' && c <= '~'; });
}

struct PipelineReply {
  ToolResult result;
  Usage usage;
  std::uint64_t redactions = 0;
  audit::AuditReceipt receipt;
  std::string repeats = {};  ///< Id of the call whose answer this is; empty when it ran itself.
};

}  // namespace tool::pipeline
