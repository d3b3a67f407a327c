#include "toolserver/federation/peer_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/json/canonical.h"
#include "base/json/fields.h"
#include "toolserver/federation/proof/forward_proof.h"
#include "toolserver/mcp/tool_values.h"
#include "toolserver/model/digest.h"
#include "toolserver/model/look_alike.h"

namespace tool::federation {
namespace {

namespace json = base::json;

constexpr std::size_t kNameBytes = 129;
constexpr std::size_t kWordsBytes = 256;
constexpr std::int64_t kMostTime = 300'000;
constexpr std::int64_t kMostOutput = 64 << 20;

base::Error broken(std::string why) {
  return base::fail(base::ErrorKind::kInvalid, std::move(why));
}

std::string cut(std::string_view text, std::size_t bytes) {
  return std::string(text.substr(0, bytes));
}

// The way to the tool's own node. Nothing where it leads by us, or in a circle.
base::Result<std::string> way_of(std::string_view peer, std::string_view self,
                                 const json::Fields& record) {
  std::string way(peer);
  std::set<std::string, std::less<>> nodes{std::string(peer), std::string(self)};
  ASSIGN_OR_RETURN(auto origin, record.object("origin"));
  ASSIGN_OR_RETURN(std::string kind, origin.string("kind"));
  if (kind != "peer") return way;
  ASSIGN_OR_RETURN(std::string further, origin.string("node"));
  std::size_t steps = 1;
  for (std::string_view rest = further; !rest.empty();) {
    auto slash = std::min(rest.find('/'), rest.size());
    auto node = rest.substr(0, slash);
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    if (!base::jose::is_key_id(node)) return broken("origin.node: must be names of nodes");
    if (!nodes.emplace(node).second) return broken("the way to it is a loop");
    if (++steps > kMostHops) return broken("the way to it is too long");
    way += '/' + std::string(node);
  }
  return way;
}

base::Result<Capability> read_one(std::string_view peer, std::string_view self,
                                  const json::Value& value) {
  auto canonical = json::canonical(value);
  if (!canonical) return broken(canonical.error().message());
  if (canonical->size() > kRecordBytes) return broken("it is over 128 KiB");
  ASSIGN_OR_RETURN(auto record, json::Fields::of(value, "record"));
  ASSIGN_OR_RETURN(std::string text, record.string("id"));
  ASSIGN_OR_RETURN(auto there, ToolId::parse(text));
  ASSIGN_OR_RETURN(auto here, far_id(peer, there));
  ASSIGN_OR_RETURN(auto said, mcp::read_tool(value));
  Capability out{.id = std::move(here)};
  ASSIGN_OR_RETURN(out.origin_name, way_of(peer, self, record));
  ASSIGN_OR_RETURN(auto limits, record.object("limits"));
  ASSIGN_OR_RETURN(auto time, limits.int64("time_ms"));
  ASSIGN_OR_RETURN(auto bytes, limits.int64("output_bytes"));
  if (time < 1 || bytes < 1) return broken("limits: must be over 0");
  out.title = std::move(said.title);
  out.description = std::move(said.description);
  out.input_schema = std::move(said.input_schema);
  out.output_schema = std::move(said.output_schema);
  out.annotations = said.annotations;
  ASSIGN_OR_RETURN(out.version, record.string("version"));
  out.origin = OriginKind::kPeer;
  out.origin_tool = there.text();
  out.origin_hash = digest(*canonical);
  out.limits.time = std::chrono::milliseconds(std::min(time, kMostTime));
  out.limits.output_bytes = static_cast<std::size_t>(std::min(bytes, kMostOutput));
  return out;
}

std::string name_of(const json::Value& value, std::size_t index) {
  if (value.is_object()) {
    const auto* id = value.get_object().if_contains("id");
    if (id != nullptr && id->is_string()) return cut(id->get_string(), kNameBytes);
  }
  return fmt::format("#{}", index);
}

}  // namespace

FarTools read_tools(std::string_view peer, std::string_view self, const json::Array& records) {
  FarTools out;
  std::map<std::string, std::vector<Capability>> by_look;
  std::size_t count = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    auto read = read_one(peer, self, records[i]);
    if (!read) {
      out.left_out.push_back({name_of(records[i], i), cut(read.error().message(), kWordsBytes)});
    } else if (count >= kFarTools) {
      out.left_out.push_back({name_of(records[i], i), "the node lists too many tools"});
    } else {
      ++count;
      by_look[look_of(read->id.name())].push_back(std::move(*read));
    }
  }
  for (auto& [look, same] : by_look) {
    if (same.size() == 1) {
      out.usable.push_back(std::move(same.front()));
      continue;
    }
    // Which of them is meant by the name here cannot be told.
    for (const auto& one : same) {
      out.left_out.push_back({one.origin_tool, "its name here looks like that of another"});
    }
  }
  std::ranges::sort(out.usable, {}, [](const Capability& one) -> const ToolId& { return one.id; });
  return out;
}

}  // namespace tool::federation
