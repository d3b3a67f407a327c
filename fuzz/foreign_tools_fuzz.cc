// Any bytes as the list of a foreign server's tools: every item is offered or
// left out with a reason, names stay in the bridge's namespace, and equal bytes
// give equal pins.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json/json.h"
#include "toolserver/mcp_bridge/foreign_tools.h"
#include "toolserver/model/argument_rules.h"
#include "toolserver/settings/bridge.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto value = base::json::parse(text, {.bytes = 1 << 16, .values = 10'000});
  if (!value || !value->is_array()) return 0;
  std::vector<base::json::Value> listed(value->get_array().begin(), value->get_array().end());
  tool::settings::Bridge bridge;
  bridge.name = "w";
  bridge.kind = tool::settings::BridgeKind::kHttp;
  tool::ArgumentRule rule{.tool = "*", .argument = "path"};
  rule.within = "/srv";
  bridge.rules.push_back(rule);
  auto tools = tool::bridge::read_tools(bridge, listed);
  if (tools.seen.size() != listed.size()) std::abort();
  std::size_t usable = 0;
  for (const auto& [id, seen] : tools.seen) {
    if (!id.starts_with("w.") || seen.pin.empty()) std::abort();
    if (seen.note.empty()) ++usable;
  }
  if (usable != tools.usable.size()) std::abort();
  for (const auto& one : tools.usable) {
    if (one.capability.id.space() != "w") std::abort();
    if (auto headers = one.headers.of({}); !headers || !headers->empty()) std::abort();
    base::json::Object outside{{"path", "/etc/passwd"}};
    const auto* properties = one.capability.input_schema.if_contains("properties");
    bool has_path =
        properties && properties->is_object() && properties->get_object().contains("path");
    if (has_path && one.rules.check(outside)) std::abort();
  }
  auto again = tool::bridge::read_tools(bridge, listed);
  for (const auto& [id, seen] : tools.seen) {
    if (again.seen.at(id).pin != seen.pin) std::abort();
  }
  return 0;
}
