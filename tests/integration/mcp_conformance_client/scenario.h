#pragma once

// What MCP's conformance suite tells the client that it tests, and what this one
// says where a model or a person would: arguments for a tool, answers to forms.

#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"
#include "toolserver/mcp_bridge/foreign_tools.h"
#include "toolserver/mcp_bridge/server_session.h"

namespace conformance {

struct Scenario {
  std::string name;                                   ///< MCP_CONFORMANCE_SCENARIO.
  tool::mcp::Revision revision = tool::mcp::kNewest;  ///< MCP_CONFORMANCE_PROTOCOL_VERSION.
  base::json::Object context;                         ///< MCP_CONFORMANCE_CONTEXT.

  /// A text of the context; empty when there is none.
  [[nodiscard]] std::string text(std::string_view member) const;
};

/// Errors: kInvalid  no scenario is named, the revision is not known, or the
///         context is no JSON object.
[[nodiscard]] base::Result<Scenario> read_scenario();

/// The calls of the tool that a client with nothing better to do makes: those of
/// the context, else one with a value for each argument that is required.
[[nodiscard]] std::vector<base::json::Object> calls_of(
    const Scenario& scenario, const tool::bridge::ForeignTool& one,
    const std::vector<base::json::Value>& listed);

/// The result of `elicitation/create`: accepted, each field as its schema's default.
/// Nothing for other methods.
[[nodiscard]] std::optional<base::json::Object> answer_to(std::string_view method,
                                                          const base::json::Object& params);

/// The same for all that a first answer of a tool asks for; nothing where it asks for more.
[[nodiscard]] std::optional<tool::Inputs> inputs_for(const tool::InputNeeded& needed);

}  // namespace conformance
