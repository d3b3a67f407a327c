#include "toolserver/mcp_ingress/task_view.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <utility>

#include "toolserver/mcp/revision.h"

namespace tool::mcp_ingress {
namespace {

namespace json = base::json;
using std::chrono::milliseconds;

constexpr milliseconds kPollInterval{1'000};

// ISO 8601, in milliseconds.
std::string time_text(base::WallTime time) {
  auto whole = std::chrono::floor<std::chrono::seconds>(time);
  auto rest = std::chrono::floor<milliseconds>(time - whole);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(static_cast<std::time_t>(whole.time_since_epoch().count())),
                     rest.count());
}

json::Object what_all_have(const TaskView& task) {
  json::Object out{{"taskId", task.id},
                   {"status", name(task.status)},
                   {"createdAt", time_text(task.created)},
                   {"lastUpdatedAt", time_text(task.changed)},
                   {"ttlMs", task.life.count()},
                   {"pollIntervalMs", kPollInterval.count()}};
  if (!task.message.empty()) out["statusMessage"] = task.message;
  return out;
}

}  // namespace

std::string_view name(TaskStatus status) {
  switch (status) {
    case TaskStatus::kWorking: return "working";
    case TaskStatus::kInputRequired: return "input_required";
    case TaskStatus::kCompleted: return "completed";
    case TaskStatus::kFailed: return "failed";
    case TaskStatus::kCancelled: return "cancelled";
  }
  return "";
}

json::Object write_handle(const TaskView& task) {
  json::Object out = what_all_have(task);
  out["resultType"] = "task";
  return out;
}

json::Object write_task(TaskView task) {
  json::Object out = what_all_have(task);
  out["resultType"] = "complete";
  switch (task.status) {
    case TaskStatus::kWorking:
    case TaskStatus::kCancelled: break;
    case TaskStatus::kInputRequired: out["inputRequests"] = std::move(task.questions); break;
    case TaskStatus::kCompleted: out["result"] = std::move(*task.result); break;
    case TaskStatus::kFailed: {
      json::Object error{{"code", task.error->code}, {"message", task.error->message}};
      if (task.error->data) error["data"] = std::move(*task.error->data);
      out["error"] = std::move(error);
      break;
    }
  }
  return out;
}

Reply lacks_tasks() {
  json::Object wanted{{"extensions", json::Object{{kTasksExtension, json::Object()}}}};
  return error_reply(400, mcp::code::kMissingCapability,
                     fmt::format("_meta.{}: must have extensions.{}",
                                 mcp::meta::kClientCapabilities, kTasksExtension),
                     json::Value(json::Object{{"requiredCapabilities", std::move(wanted)}}));
}

bool declares_tasks(const json::Object& client) {
  const auto* extensions = client.if_contains("extensions");
  const auto* known = extensions == nullptr ? nullptr : extensions->if_object();
  const auto* tasks = known == nullptr ? nullptr : known->if_contains(kTasksExtension);
  return tasks != nullptr && tasks->is_object();
}

}  // namespace tool::mcp_ingress
