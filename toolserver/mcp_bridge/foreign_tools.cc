#include "toolserver/mcp_bridge/foreign_tools.h"

#include <utility>

#include "toolserver/mcp/tool_values.h"
#include "toolserver/mcp_bridge/foreign_item.h"
#include "toolserver/model/look_alike.h"
#include "toolserver/pipeline/schema.h"

namespace tool::bridge {
namespace {

namespace json = base::json;

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
  Capability out = bridged_capability(bridge, std::move(id), std::move(said.name), std::move(hash));
  out.title = std::move(said.title);
  out.description = std::move(said.description);
  out.input_schema = std::move(said.input_schema);
  out.output_schema = std::move(said.output_schema);
  out.annotations = said.annotations;
  return out;
}

Candidate read_one(const settings::Bridge& bridge, const json::Value& value, std::size_t index) {
  Candidate out = candidate_of(bridge, Offer::kTool, value, index);
  if (!out.why.empty()) return out;
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

}  // namespace

ForeignTools read_tools(const settings::Bridge& bridge, const std::vector<json::Value>& listed) {
  std::vector<Candidate> all;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    all.push_back(read_one(bridge, listed[i], i));
  }
  ForeignTools out;
  collect(bridge, std::move(all), out);
  return out;
}

}  // namespace tool::bridge
