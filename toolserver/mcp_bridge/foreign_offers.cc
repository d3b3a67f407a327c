#include "toolserver/mcp_bridge/foreign_offers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "toolserver/mcp/offer_values.h"
#include "toolserver/mcp/resource_uri.h"
#include "toolserver/mcp_bridge/foreign_item.h"
#include "toolserver/model/digest.h"
#include "toolserver/model/look_alike.h"

namespace tool::bridge {
namespace {

namespace json = base::json;

json::Object text_schema(std::size_t most) {
  return {{"type", "string"}, {"maxLength", static_cast<std::int64_t>(most)}};
}

json::Object schema_of(json::Object properties, json::Array required) {
  json::Object out{{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) out["required"] = std::move(required);
  out["additionalProperties"] = false;
  return out;
}

// Arguments of prompts are texts, whatever they mean.
constexpr std::size_t kArgumentCharacters = 65'536;

void describe_prompt(Capability& capability, const mcp::PromptDescription& said) {
  json::Object properties;
  json::Array required;
  json::Array arguments;
  for (const auto& one : said.arguments) {
    json::Object property = text_schema(kArgumentCharacters);
    json::Object shown{{"name", one.name}};
    if (!one.title.empty()) property["title"] = shown["title"] = one.title;
    if (!one.description.empty()) property["description"] = shown["description"] = one.description;
    shown["required"] = one.required;
    if (one.required) required.emplace_back(one.name);
    properties[one.name] = std::move(property);
    arguments.push_back(std::move(shown));
  }
  capability.title = said.title;
  capability.description = said.description;
  capability.input_schema = schema_of(std::move(properties), std::move(required));
  capability.annotations = {.read_only = true, .destructive = false, .idempotent = true};
  capability.listed = {{"name", std::string(capability.id.plain())}};
  if (!said.title.empty()) capability.listed["title"] = said.title;
  if (!said.description.empty()) capability.listed["description"] = said.description;
  if (!arguments.empty()) capability.listed["arguments"] = std::move(arguments);
}

void describe_resource(Capability& capability) {
  capability.input_schema =
      schema_of({{"uri", text_schema(mcp::kUriBytes)}}, json::Array{json::Value("uri")});
  capability.annotations = {.read_only = true, .destructive = false, .idempotent = true};
}

// A name for people, as an id.
std::string slug_of(std::string_view name) {
  std::string out;
  for (char c : name) {
    char small = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    bool fits = (small >= 'a' && small <= 'z') || (small >= '0' && small <= '9') || small == '_';
    if (fits) {
      out += small;
    } else if (!out.ends_with('-')) {
      out += '-';
    }
  }
  return out;
}

// Gives a candidate its id, or says why it has none.
bool identify(Candidate& out, const settings::Bridge& bridge, Offer offer, std::string_view name) {
  auto id = ToolId::parse_any(fmt::format("{}:{}.{}", tool::name(offer), bridge.name, name));
  if (!id) {
    out.why = "its name cannot be one of this service";
    return false;
  }
  out.key = id->text();
  out.look = look_of(id->name());
  out.tool.emplace(ForeignTool{bridged_capability(bridge, std::move(*id), {}, out.pinned.pin), {}});
  return true;
}

void pin(Candidate& out) {
  out.pinned.pin = out.tool->capability.pin();
  out.pinned.record = out.tool->capability.to_json();
}

Candidate prompt_of(const settings::Bridge& bridge, const json::Value& value, std::size_t index) {
  Candidate out = candidate_of(bridge, Offer::kPrompt, value, index);
  if (!out.why.empty()) return out;
  auto said = mcp::read_prompt(value);
  if (!said) {
    out.why = said.error().message();
    return out;
  }
  if (!identify(out, bridge, Offer::kPrompt, own_name(said->name))) return out;
  Capability& capability = out.tool->capability;
  capability.origin_tool = said->name;
  describe_prompt(capability, *said);
  pin(out);
  return out;
}

Candidate template_of(const settings::Bridge& bridge, const json::Value& value, std::size_t index) {
  Candidate out = candidate_of(bridge, Offer::kResource, value, index);
  if (!out.why.empty()) return out;
  auto said = mcp::read_resource(value, "uriTemplate");
  if (!said) {
    out.why = said.error().message();
    return out;
  }
  if (!identify(out, bridge, Offer::kResource, slug_of(said->name))) return out;
  if (look_of(mcp::kListedResources) == out.look) {
    // It must not stand in the place of the list.
    out = candidate_of(bridge, Offer::kResource, value, index);
    out.why = "its name looks like that of the list of resources";
    return out;
  }
  auto uris = mcp::UriTemplate::parse(said->uri);
  if (!uris) {
    out.why = uris.error().message();
    return out;
  }
  out.tool->uris = std::move(*uris);
  Capability& capability = out.tool->capability;
  capability.origin_tool = said->uri;
  capability.title = said->title.empty() ? said->name : said->title;
  capability.description = said->description;
  describe_resource(capability);
  said->uri = mcp::outer_uri(bridge.name, said->uri);
  capability.listed = said->to_json("uriTemplate");
  pin(out);
  return out;
}

}  // namespace

void read_prompts(const settings::Bridge& bridge, const std::vector<json::Value>& listed,
                  ForeignTools& out) {
  std::vector<Candidate> all;
  for (const auto& one : listed) all.push_back(prompt_of(bridge, one, all.size()));
  collect(bridge, std::move(all), out);
}

void read_templates(const settings::Bridge& bridge, const std::vector<json::Value>& listed,
                    ForeignTools& out) {
  std::vector<Candidate> all;
  for (const auto& one : listed) all.push_back(template_of(bridge, one, all.size()));
  collect(bridge, std::move(all), out);
}

std::size_t read_resources(const settings::Bridge& bridge, const std::vector<json::Value>& listed,
                           ForeignTools& out, std::string& why) {
  Candidate list;
  list.pinned.pin = digest("resources");
  if (!identify(list, bridge, Offer::kResource, mcp::kListedResources)) return listed.size();
  std::size_t left_out = 0;
  json::Array shown;
  for (const auto& one : listed) {
    auto said = mcp::read_resource(one, "uri");
    bool is_new = said && mcp::is_uri(said->uri) && list.tool->listed.insert(said->uri).second;
    if (is_new) {
      said->uri = mcp::outer_uri(bridge.name, said->uri);
      shown.push_back(said->to_json("uri"));
      continue;
    }
    if (left_out++ == 0) {
      why = said ? "uri: must be a URI of 1 to 2,048 bytes, each once" : said.error().message();
    }
  }
  Capability& capability = list.tool->capability;
  capability.title = "Resources";
  capability.description =
      "Whatever the server lists as a resource. The list changes, and what it says is not pinned.";
  describe_resource(capability);
  capability.listed = {{"resources", std::move(shown)}};
  pin(list);
  std::vector<Candidate> all;
  all.push_back(std::move(list));
  collect(bridge, std::move(all), out);
  return left_out;
}

}  // namespace tool::bridge
