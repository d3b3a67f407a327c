#pragma once

// Workflows that the operator wrote are tools like others: flow.NAME, for
// callers of the protocol and of MCP alike. A call is a run; its steps are calls
// of their own under the same caller's rights, so the tool grants nothing.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "toolserver/connectors/tool_set.h"
#include "toolserver/workflow/flows.h"

namespace tool::workflow {

/// Whether a tool of this id is a workflow of the operator.
[[nodiscard]] inline bool is_flow_tool(const ToolId& id) { return id.space() == "flow"; }

struct NamedWorkflow {
  std::string name;  ///< The file's, without .json.
  Workflow workflow;
};

/// The files NAME.json of a folder, in the order of their names.
/// Errors: kInvalid  the folder cannot be read, holds over 256 of them, or one is
///         over 1 MiB, has a name that no tool can have, or breaks a rule of
///         read_workflow(); the message names the file.
[[nodiscard]] base::Result<std::vector<NamedWorkflow>> read_workflow_folder(
    const std::filesystem::path& folder, const Bounds& bounds);

/// The tools of `workflows`. `flows` gives those in force now, which outlive each call.
[[nodiscard]] std::shared_ptr<connectors::Connector> flow_tools(
    std::vector<NamedWorkflow> workflows, std::function<Flows&()> flows);

}  // namespace tool::workflow
