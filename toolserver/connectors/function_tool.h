#pragma once

// A tool that is a function of the program which embeds the service.

#include <functional>

#include "base/runtime/workers.h"
#include "toolserver/connectors/tool_set.h"

namespace tool::connectors {

/// Called on a thread for work that blocks, with arguments that the tool's
/// schema allows; by several threads at once. It must not throw. Its result, or
/// a refusal as Connector::invoke has them.
using ToolFunction = std::function<Outcome<ToolResult>(const Invocation& call)>;

/// A deadline that passes, or a caller that goes away, ends the wait for the
/// function only: it runs to its end, which the service waits for.
class FunctionTool final : public Tool {
 public:
  /// `pool` outlives the tool.
  FunctionTool(Capability capability, ToolFunction function, base::BlockingPool& pool)
      : capability_(std::move(capability)), function_(std::move(function)), pool_(pool) {}

  [[nodiscard]] const Capability& capability() const override { return capability_; }
  [[nodiscard]] base::Task<Outcome<ToolResult>> run(Approved<Invocation> call,
                                                    Progress progress) override;

 private:
  const Capability capability_;
  const ToolFunction function_;
  base::BlockingPool& pool_;
};

/// An answer of one text.
[[nodiscard]] ToolResult text_result(std::string text);
/// An answer of one JSON value, which callers get as text and as structure.
[[nodiscard]] ToolResult json_result(base::json::Value value);
/// What a caller may read and correct: a result with is_error.
[[nodiscard]] ToolResult error_result(std::string text);

}  // namespace tool::connectors
