#pragma once

// A task as its owner sees it, and as the Tasks extension writes it.
// Source: MCP extension io.modelcontextprotocol/tasks (SEP-2663), "Tasks".

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/json/json.h"
#include "toolserver/mcp/message.h"
#include "toolserver/mcp_ingress/dispatcher.h"

namespace tool::mcp_ingress {

/// What is told of a run that its owner cancelled.
inline constexpr std::string_view kTakenBack =
    "cancelled; what was done is taken back as far as there is an undo";

inline constexpr std::string_view kTasksExtension = "io.modelcontextprotocol/tasks";

enum class TaskStatus : std::uint8_t { kWorking, kInputRequired, kCompleted, kFailed, kCancelled };
[[nodiscard]] std::string_view name(TaskStatus status);

struct TaskView {
  std::string id;
  TaskStatus status = TaskStatus::kWorking;
  std::string message = {};  ///< For a person; empty for none.
  base::WallTime created{};
  base::WallTime changed{};
  std::chrono::milliseconds life{};   ///< Since it was created; at least as long it is kept.
  base::json::Object questions = {};  ///< Of kInputRequired: the open ones.
  std::optional<base::json::Object> result = {};  ///< Of kCompleted.
  std::optional<mcp::RpcError> error = {};        ///< Of kFailed.
};

/// The answer to a call that became a task: without questions, result and error.
[[nodiscard]] base::json::Object write_handle(const TaskView& task);
/// The answer to `tasks/get`.
[[nodiscard]] base::json::Object write_task(TaskView task);

/// The refusal of one that does not say it where it has to.
[[nodiscard]] Reply lacks_tasks();
/// Whether a client says that it knows tasks, by what MCP calls its capabilities.
[[nodiscard]] bool declares_tasks(const base::json::Object& client);

}  // namespace tool::mcp_ingress
