#include "toolserver/mcp_bridge/foreign_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/json/canonical.h"
#include "toolserver/mcp/tool_values.h"
#include "toolserver/model/digest.h"
#include "toolserver/model/look_alike.h"
#include "toolserver/pipeline/schema.h"

namespace tool::bridge {
namespace {

namespace json = base::json;

constexpr std::size_t kToolBytes = 128 << 10;
// A foreign tool has as long as the caller asks for, and the bridge's timeout.
constexpr std::chrono::milliseconds kTime{300'000};

// What is known of one item on its way.
struct Candidate {
  std::string key;  // Its id, or a place in the list where it has none.
  std::string look;
  std::string why;  // It is unusable; empty when it is not.
  PinnedTool pinned;
  std::optional<ForeignTool> tool;
};

std::string own_name(std::string_view name) {
  std::string out(name);
  std::ranges::transform(out, out.begin(), [](char c) {
    if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
    return c == '.' ? '_' : c;
  });
  return out;
}

std::string hash_of(const json::Value& value) {
  // Integers that have no canonical text: the server's own order stands in.
  auto canonical = json::canonical(value);
  return digest(canonical ? *canonical : json::write(value));
}

std::string schema_fault(const Capability& capability) {
  const auto* type = capability.input_schema.if_contains("type");
  if (type == nullptr || *type != "object") return "inputSchema: must be of type object";
  auto input = pipeline::Schema::compile(capability.input_schema);
  if (!input) return "inputSchema: " + input.error().message();
  if (!capability.output_schema) return {};
  auto output = pipeline::Schema::compile(*capability.output_schema);
  return output ? std::string() : "outputSchema: " + output.error().message();
}

Capability capability_of(const settings::Bridge& bridge, ToolId id, mcp::ToolDescription said,
                         std::string hash) {
  Capability out{.id = std::move(id)};
  out.title = std::move(said.title);
  out.description = std::move(said.description);
  out.input_schema = std::move(said.input_schema);
  out.output_schema = std::move(said.output_schema);
  out.annotations = said.annotations;
  out.origin = OriginKind::kBridge;
  out.origin_name = bridge.name;
  out.origin_tool = std::move(said.name);
  out.origin_hash = std::move(hash);
  out.consent = bridge.consent;
  out.limits.time = kTime;
  return out;
}

Candidate read_one(const settings::Bridge& bridge, const json::Value& value, std::size_t index) {
  Candidate out;
  out.key = fmt::format("{}.#{}", bridge.name, index);
  out.pinned.pin = hash_of(value);
  if (json::write(value).size() > kToolBytes) {
    out.why = "it is over 128 KiB";
    return out;
  }
  if (value.is_object()) out.pinned.record = value.get_object();
  auto said = mcp::read_tool(value);
  if (!said) {
    out.why = said.error().message();
    return out;
  }
  auto id = ToolId::parse(bridge.name + "." + own_name(said->name));
  if (!id) {
    out.why = "its name cannot be one of this service";
    return out;
  }
  out.key = id->text();
  out.look = look_of(id->name());
  out.tool.emplace(
      ForeignTool{capability_of(bridge, std::move(*id), std::move(*said), out.pinned.pin), {}});
  const Capability& capability = out.tool->capability;
  out.why = schema_fault(capability);
  if (!out.why.empty()) return out;
  auto rules = ArgumentRules::compile(bridge.rules, capability.id.name(), capability.input_schema);
  if (!rules) {
    out.why = "rules: " + rules.error().message();
    return out;
  }
  out.tool->rules = std::move(*rules);
  if (bridge.kind == settings::BridgeKind::kHttp) {
    auto headers = ParamHeaders::read(capability.input_schema);
    if (!headers) {
      out.why = headers.error().message();
      return out;
    }
    out.tool->headers = std::move(*headers);
  }
  out.pinned.pin = capability.pin();
  out.pinned.record = capability.to_json();
  return out;
}

// Both are left out: which of them is the true one cannot be told.
void refuse_look_alikes(std::vector<Candidate>& all) {
  std::map<std::string, std::vector<Candidate*>> by_look;
  for (auto& one : all) {
    if (!one.look.empty()) by_look[one.look].push_back(&one);
  }
  for (auto& [look, same] : by_look) {
    if (same.size() < 2) continue;
    for (std::size_t i = 0; i < same.size(); ++i) {
      const Candidate& other = *same[i == 0 ? 1 : 0];
      same[i]->why = same[i]->key == other.key ? "another tool has its name"
                                               : "its name looks like that of " + other.key;
    }
  }
}

}  // namespace

ForeignTools read_tools(const settings::Bridge& bridge, const std::vector<json::Value>& listed) {
  std::vector<Candidate> all;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    all.push_back(read_one(bridge, listed[i], i));
  }
  refuse_look_alikes(all);
  ForeignTools out;
  for (auto& one : all) {
    one.pinned.note = one.why;
    // Of two with one name the second stands under its place in the list.
    std::string key = out.seen.contains(one.key)
                          ? fmt::format("{}.#{}", bridge.name, &one - all.data())
                          : one.key;
    out.seen.emplace(std::move(key), std::move(one.pinned));
    if (one.why.empty()) out.usable.push_back(std::move(*one.tool));
  }
  std::ranges::sort(out.usable, {},
                    [](const ForeignTool& one) -> const ToolId& { return one.capability.id; });
  return out;
}

}  // namespace tool::bridge
