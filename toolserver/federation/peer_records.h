#pragma once

// From what another node says to values of ours: the tools that it lists, and
// its answers. A node is authenticated, and may lie all the same: it names tools
// in its own namespace alone, and what breaks a rule is left out with the reason.
// Source: docs/wire-3.0.md, sections 9 and 10; docs/adr/0139.

#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.h"
#include "toolserver/model/capability.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/invocation.h"

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

/// The answer of fed.forward. Errors: E_UPSTREAM  it is none; E_LIMIT  it has
/// more than 1,024 parts.
[[nodiscard]] Outcome<ToolResult> read_reply(base::json::Object payload);

/// What a caller is told of a refusal by `peer`: whose it is and its code. The
/// words are the peer's, which no filter has seen: they are for the log.
[[nodiscard]] Fault relayed(std::string_view peer, Fault fault);

}  // namespace tool::federation
