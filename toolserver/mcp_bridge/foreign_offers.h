#pragma once

// From what a foreign server lists beside tools to records of ours. A prompt and a
// template of resources are pinned one by one, as tools are. The list of resources
// changes with every file of a server, so it is one record of constant words:
// approving it is approving whatever the server lists.
// Source: docs/adr/0162.

#include <string>
#include <vector>

#include "base/json/json.h"
#include "toolserver/mcp_bridge/foreign_tools.h"

namespace tool::bridge {

/// Adds the prompts of `listed`, items of "prompts". A prompt is unusable for the reasons
/// of a tool, or when its arguments break a rule.
void read_prompts(const settings::Bridge& bridge, const std::vector<base::json::Value>& listed,
                  ForeignTools& out);

/// Adds the templates of `listed`, items of "resourceTemplates". Its id is its name in
/// small letters, with '-' for all that an id does not have. Unusable likewise, or when
/// it is none that mcp::UriTemplate understands.
void read_templates(const settings::Bridge& bridge, const std::vector<base::json::Value>& listed,
                    ForeignTools& out);

/// Adds the list of resources, `resource:git.listed`: items of "resources". Returns how many of
/// them are left out, for they are no resources of MCP, have no URI, or one that came before; the
/// first reason is in `why`.
[[nodiscard]] std::size_t read_resources(const settings::Bridge& bridge,
                                         const std::vector<base::json::Value>& listed,
                                         ForeignTools& out, std::string& why);

}  // namespace tool::bridge
