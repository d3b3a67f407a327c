#pragma once

// A tool that is a program of this machine. No shell reads anything: each
// element of the configuration's list is one argument of the program, whatever
// stands in it, and what a caller sends cannot become an option.
// Source: docs/tools/own-tools.md; POSIX.1-2024, Utility Syntax Guideline 10.

#include "toolserver/connectors/tool_set.h"
#include "toolserver/definition/tool_definition.h"

namespace tool::command {

/// The program's arguments for a call. An element that names an argument which
/// the call leaves out is left out.
/// Errors: E_SHAPE  an element would begin with a '-' of the caller's and no
///         literal "--" stands before it; a value holds a NUL; an element has
///         more than 64 KiB.
[[nodiscard]] Outcome<std::vector<std::string>> arguments_of(const definition::CommandWork& work,
                                                             const base::json::Object& args);

class CommandTool final : public connectors::Tool {
 public:
  /// `definition.work` is a CommandWork.
  explicit CommandTool(definition::ToolDefinition definition);

  [[nodiscard]] const Capability& capability() const override { return definition_.capability; }
  /// An exit code that is none of the tool's ok_codes is a result with is_error.
  [[nodiscard]] base::Task<Outcome<ToolResult>> run(Approved<Invocation> call,
                                                    Progress progress) override;

 private:
  const definition::ToolDefinition definition_;
};

}  // namespace tool::command
