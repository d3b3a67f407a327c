#pragma once

// From the list of another node to tools of ours. A node is authenticated, and may lie
// all the same: it names tools in its own namespace alone, and what breaks a rule is
// left out with the reason.
// Source: docs/wire-3.0.md, section 10; docs/adr/0139.

#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.h"
#include "toolserver/model/capability.h"

namespace tool::federation {

inline constexpr std::size_t kFarTools = 512;
inline constexpr std::size_t kRecordBytes = 128 << 10;
inline constexpr std::size_t kListBytes = 4 << 20;  ///< Of all records, as JSON.

struct FarTools {
  /// In the order of their ids. origin_tool is the id there, origin_name the way
  /// to the tool's own node, nearest first, parted by '/'.
  std::vector<Capability> usable;
  struct LeftOut {
    std::string name;  ///< As the node wrote it, cut; or its place in the list.
    std::string why;
  };
  std::vector<LeftOut> left_out;
};

/// The tools of `records`, which `peer` listed to `self`. Left out are records
/// that break section 10, are over kRecordBytes, whose way leads by `self` or
/// twice by one node, whose id here is too long, and both of two whose ids here
/// are alike; of kFarTools and more those that come last.
[[nodiscard]] FarTools read_tools(std::string_view peer, std::string_view self,
                                  const base::json::Array& records);

}  // namespace tool::federation
