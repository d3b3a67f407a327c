#pragma once

// One item of a foreign server's list on its way to a record of ours, whether it is a
// tool, a prompt or a template of resources; and the bounds that are the same for all.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.h"
#include "toolserver/mcp_bridge/foreign_tools.h"

namespace tool::bridge {

/// What is known of an item.
struct Candidate {
  std::string key;  ///< Its id, or a place in the list where it has none.
  std::string look;
  std::string why;  ///< It is unusable; empty when it is not.
  PinnedTool pinned;
  std::optional<ForeignTool> tool;
};

/// One that has no id yet: its key is `index`, its pin is over all that the server says.
/// It is unusable when it is over 128 KiB.
[[nodiscard]] Candidate candidate_of(const settings::Bridge& bridge, Offer offer,
                                     const base::json::Value& value, std::size_t index);
/// A server's name with capitals made small, and '_' for '.'.
[[nodiscard]] std::string own_name(std::string_view name);
/// What all records of a bridge have.
[[nodiscard]] Capability bridged_capability(const settings::Bridge& bridge, ToolId id,
                                            std::string origin_tool, std::string hash);
/// Puts all of them into `out`. Of those that look alike none is usable: which of them is
/// the true one cannot be told.
void collect(const settings::Bridge& bridge, std::vector<Candidate> all, ForeignTools& out);

}  // namespace tool::bridge
