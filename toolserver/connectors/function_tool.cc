#include "toolserver/connectors/function_tool.h"

namespace tool::connectors {

base::Task<Outcome<ToolResult>> FunctionTool::run(Approved<Invocation> call, Progress) {
  if (call->dry_run) co_return ToolResult{};
  // Shared with the work: should the loop be torn down under this coroutine,
  // the pool thread still holds what it reads.
  auto shared = std::make_shared<const Approved<Invocation>>(std::move(call));
  auto function = function_;
  auto work = [shared, function = std::move(function)] { return function(**shared); };
  co_return co_await pool_.run(std::move(work));
}

ToolResult text_result(std::string text) {
  ToolResult result;
  result.content.push_back({"text/plain", std::move(text)});
  return result;
}

ToolResult json_result(base::json::Value value) {
  ToolResult result;
  result.content.push_back({"application/json", base::json::write(value)});
  result.structured = std::move(value);
  return result;
}

ToolResult error_result(std::string text) {
  ToolResult result = text_result(std::move(text));
  result.is_error = true;
  return result;
}

}  // namespace tool::connectors
