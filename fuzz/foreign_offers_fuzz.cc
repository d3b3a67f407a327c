// Any bytes as a foreign server's lists of prompts, templates and resources, and as its
// answers: every item is offered under the bridge's name or left out with a reason, a URI
// that callers see leads to this server alone, and equal bytes give equal pins.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/json/json.h"
#include "toolserver/mcp/offer_values.h"
#include "toolserver/mcp/resource_uri.h"
#include "toolserver/mcp_bridge/foreign_offers.h"
#include "toolserver/settings/bridge.h"

namespace {

using tool::bridge::ForeignTools;

void check(bool holds) {
  if (!holds) std::abort();
}

bool leads_here(const base::json::Value& uri) {
  auto parts = tool::mcp::inner_uri(std::string_view(uri.get_string()));
  return parts && parts->server == "w_1";
}

ForeignTools read_all(const std::vector<base::json::Value>& listed) {
  tool::settings::Bridge bridge;
  bridge.name = "w_1";
  ForeignTools all;
  std::string why;
  read_prompts(bridge, listed, all);
  read_templates(bridge, listed, all);
  check(read_resources(bridge, listed, all, why) <= listed.size());
  check(all.seen.size() == 2 * listed.size() + 1);
  return all;
}

void check_usable(const ForeignTools& all) {
  for (const auto& one : all.usable) {
    const auto& capability = one.capability;
    check(capability.id.space() == "w_1" && capability.id.offer() != tool::Offer::kTool);
    check(all.seen.at(capability.id.text()).note.empty());
    for (const auto& uri : one.listed) check(tool::mcp::is_uri(uri));
    if (const auto* resources = capability.listed.if_contains("resources")) {
      check(resources->get_array().size() == one.listed.size());
      for (const auto& shown : resources->get_array()) check(leads_here(shown.at("uri")));
    }
    if (one.uris) check(one.uris->text() == capability.origin_tool);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto parts = tool::mcp::inner_uri(text)) {
    check(tool::mcp::is_uri(parts->uri));
    check(tool::mcp::outer_uri(parts->server, parts->uri) == text);
  }
  auto value = base::json::parse(text, {.bytes = 1 << 16, .values = 10'000});
  if (!value) return 0;
  if (value->is_object()) {
    if (auto read = tool::mcp::read_contents(value->get_object())) {
      for (const auto& part : read->content) check(tool::mcp::is_uri(part.uri));
    }
    std::ignore = tool::mcp::read_prompt_text(value->get_object());
  }
  if (!value->is_array()) return 0;
  std::vector<base::json::Value> listed(value->get_array().begin(), value->get_array().end());
  ForeignTools all = read_all(listed);
  check_usable(all);
  ForeignTools again = read_all(listed);
  for (const auto& [id, seen] : all.seen) check(again.seen.at(id).pin == seen.pin);
  return 0;
}
