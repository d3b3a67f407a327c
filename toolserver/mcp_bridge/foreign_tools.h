#pragma once

// From what a foreign server lists to tools of ours: under the bridge's name,
// with the whole of what the server says in the pin, and none whose name looks
// like another's. What cannot be offered stays in the list, with the reason, so
// that an operator sees it.
// Source: docs/wire-3.0.md, "Capability record"; docs/adr/0120.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json/json.h"
#include "toolserver/mcp/resource_uri.h"
#include "toolserver/mcp_bridge/param_headers.h"
#include "toolserver/model/argument_rules.h"
#include "toolserver/model/capability.h"
#include "toolserver/pins/pin_store.h"
#include "toolserver/settings/bridge.h"

namespace tool::bridge {

using pins::PinFile;
using pins::PinnedTool;
using pins::PinStatus;
using pins::PinStore;

/// A tool; or by its id a prompt, a template of resources or the list of resources.
struct ForeignTool {
  Capability capability;
  ArgumentRules rules;
  ParamHeaders headers = {};                       ///< Of a tool of a server at a URL.
  std::optional<mcp::UriTemplate> uris = {};       ///< Of a template: what it stands for.
  std::set<std::string, std::less<>> listed = {};  ///< Of the list: the server's URIs.
};

struct ForeignTools {
  std::vector<ForeignTool> usable;         ///< In the order of their ids.
  std::map<std::string, PinnedTool> seen;  ///< All, for PinStore::see(); without times.
};

/// The tools of `listed`, each an item of "tools" as the server wrote it.
/// A tool is left unusable, with the reason in its note, when it is no tool of
/// MCP, is over 128 KiB, has a name that is none of ours after capitals became
/// small and '.' became '_', looks like another one, has a schema that the
/// pipeline does not understand, or, at a URL, wants headers that break a rule
/// of ParamHeaders.
[[nodiscard]] ForeignTools read_tools(const settings::Bridge& bridge,
                                      const std::vector<base::json::Value>& listed);

}  // namespace tool::bridge
