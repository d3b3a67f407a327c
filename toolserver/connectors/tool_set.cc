#include "toolserver/connectors/tool_set.h"

#include <algorithm>

namespace tool::connectors {

std::vector<Capability> ToolSet::capabilities() const {
  std::vector<Capability> out;
  for (const auto& tool : tools_) out.push_back(tool->capability());
  return out;
}

base::Task<Outcome<ToolResult>> ToolSet::invoke(Approved<Invocation> call, Progress progress) {
  auto found = std::ranges::find_if(
      tools_, [&](const auto& tool) { return tool->capability().id == call->tool; });
  if (found == tools_.end()) co_return refuse(Code::kTool, "no such tool");
  co_return co_await (*found)->run(std::move(call), std::move(progress));
}

}  // namespace tool::connectors
