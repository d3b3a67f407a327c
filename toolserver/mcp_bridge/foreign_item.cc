#include "toolserver/mcp_bridge/foreign_item.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/json/canonical.h"
#include "toolserver/model/digest.h"

namespace tool::bridge {
namespace {

namespace json = base::json;

constexpr std::size_t kItemBytes = 128 << 10;
// A foreign tool has as long as the caller asks for, and the bridge's timeout.
constexpr std::chrono::milliseconds kTime{300'000};

std::string place_key(const settings::Bridge& bridge, Offer offer, std::size_t index) {
  std::string kind = offer == Offer::kTool ? "" : std::string(name(offer)) + ":";
  return fmt::format("{}{}.#{}", kind, bridge.name, index);
}

std::string hash_of(const json::Value& value) {
  // Integers that have no canonical text: the server's own order stands in.
  auto canonical = json::canonical(value);
  return digest(canonical ? *canonical : json::write(value));
}

void refuse_look_alikes(std::vector<Candidate>& all) {
  std::map<std::string, std::vector<Candidate*>> by_look;
  for (auto& one : all) {
    if (!one.look.empty()) by_look[one.look].push_back(&one);
  }
  for (auto& [look, same] : by_look) {
    if (same.size() < 2) continue;
    for (std::size_t i = 0; i < same.size(); ++i) {
      const Candidate& other = *same[i == 0 ? 1 : 0];
      std::string_view what = same[i]->tool ? name(same[i]->tool->capability.id.offer()) : "tool";
      same[i]->why = same[i]->key == other.key ? fmt::format("another {} has its name", what)
                                               : "its name looks like that of " + other.key;
    }
  }
}

}  // namespace

Candidate candidate_of(const settings::Bridge& bridge, Offer offer, const json::Value& value,
                       std::size_t index) {
  Candidate out;
  out.key = place_key(bridge, offer, index);
  out.pinned.pin = hash_of(value);
  if (json::write(value).size() > kItemBytes) {
    out.why = "it is over 128 KiB";
  } else if (value.is_object()) {
    out.pinned.record = value.get_object();
  }
  return out;
}

std::string own_name(std::string_view name) {
  std::string out(name);
  std::ranges::transform(out, out.begin(), [](char c) {
    if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
    return c == '.' ? '_' : c;
  });
  return out;
}

Capability bridged_capability(const settings::Bridge& bridge, ToolId id, std::string origin_tool,
                              std::string hash) {
  Capability out{.id = std::move(id)};
  out.origin = OriginKind::kBridge;
  out.origin_name = bridge.name;
  out.origin_tool = std::move(origin_tool);
  out.origin_hash = std::move(hash);
  out.consent = bridge.consent;
  out.limits.time = kTime;
  return out;
}

void collect(const settings::Bridge& bridge, std::vector<Candidate> all, ForeignTools& out) {
  refuse_look_alikes(all);
  for (auto& one : all) {
    one.pinned.note = one.why;
    // Of two with one name the second stands under its place in the list.
    Offer offer = one.tool ? one.tool->capability.id.offer() : Offer::kTool;
    std::string key = out.seen.contains(one.key)
                          ? place_key(bridge, offer, static_cast<std::size_t>(&one - all.data()))
                          : one.key;
    out.seen.emplace(std::move(key), std::move(one.pinned));
    if (one.why.empty()) out.usable.push_back(std::move(*one.tool));
  }
  std::ranges::sort(out.usable, {},
                    [](const ForeignTool& one) -> const ToolId& { return one.capability.id; });
}

}  // namespace tool::bridge
