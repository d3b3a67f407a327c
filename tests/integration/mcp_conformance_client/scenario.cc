#include "tests/integration/mcp_conformance_client/scenario.h"

#include <algorithm>
#include <cstdlib>

namespace conformance {
namespace {

namespace json = base::json;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

const json::Object* object_at(const json::Object& parent, std::string_view name) {
  const auto* found = parent.if_contains(name);
  return found == nullptr ? nullptr : found->if_object();
}

json::Value value_for(const json::Object& schema) {
  if (const auto* standard = schema.if_contains("default")) return *standard;
  const auto* type = schema.if_contains("type");
  if (type == nullptr || *type == "string") return json::Value("text");
  if (*type == "integer" || *type == "number") return json::Value(2);
  if (*type == "boolean") return json::Value(true);
  if (*type == "array") return json::Value(json::Array());
  return json::Value(json::Object());
}

// A value for each property, or for each that is required.
json::Object values_for(const json::Object& schema, bool all) {
  json::Object out;
  const auto* properties = object_at(schema, "properties");
  if (properties == nullptr) return out;
  const auto* required = schema.if_contains("required");
  for (const auto& [name, property] : *properties) {
    bool is_required = required != nullptr && required->is_array() &&
                       std::ranges::count(required->get_array(), json::Value(name)) > 0;
    if ((all || is_required) && property.is_object()) {
      out[name] = value_for(property.get_object());
    }
  }
  return out;
}

// The input schema as the server wrote it, of the tool that has more than `echo`.
json::Value schema_beside(const std::vector<json::Value>& listed, std::string_view echo) {
  for (const auto& one : listed) {
    if (one.is_object() && one.get_object().contains("inputSchema") &&
        one.get_object().at("name") != json::Value(echo)) {
      return one.get_object().at("inputSchema");
    }
  }
  return json::Value(json::Object());
}

}  // namespace

std::string Scenario::text(std::string_view member) const {
  const auto* value = context.if_contains(member);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

base::Result<Scenario> read_scenario() {
  Scenario out;
  out.name = variable("MCP_CONFORMANCE_SCENARIO");
  auto revision = tool::mcp::revision_of(variable("MCP_CONFORMANCE_PROTOCOL_VERSION"));
  if (out.name.empty() || !revision) {
    return base::fail(base::ErrorKind::kInvalid, "the suite names no scenario, or no revision");
  }
  out.revision = *revision;
  std::string context = variable("MCP_CONFORMANCE_CONTEXT");
  if (context.empty()) return out;
  ASSIGN_OR_RETURN(auto value, json::parse(context));
  if (!value.is_object()) return base::fail(base::ErrorKind::kInvalid, "the context is no object");
  out.context = value.get_object();
  return out;
}

std::vector<json::Object> calls_of(const Scenario& scenario, const tool::bridge::ForeignTool& one,
                                   const std::vector<json::Value>& listed) {
  const std::string& name = one.capability.origin_tool;
  std::vector<json::Object> out;
  if (const auto* calls = scenario.context.if_contains("toolCalls"); calls && calls->is_array()) {
    for (const auto& call : calls->get_array()) {
      if (call.at("name") == json::Value(name)) out.push_back(call.at("arguments").as_object());
    }
    return out;
  }
  auto arguments = values_for(one.capability.input_schema, false);
  if (name == "json_schema_echo") arguments["schema"] = schema_beside(listed, name);
  out.push_back(std::move(arguments));
  return out;
}

std::optional<json::Object> answer_to(std::string_view method, const json::Object& params) {
  if (method != tool::mcp::method::kElicit) return std::nullopt;
  const auto* schema = object_at(params, "requestedSchema");
  if (schema == nullptr) return json::Object{{"action", "decline"}};
  return json::Object{{"action", "accept"}, {"content", values_for(*schema, true)}};
}

std::optional<tool::Inputs> inputs_for(const tool::InputNeeded& needed) {
  tool::Inputs out{{}, needed.state};
  for (const auto& [name, request] : needed.requests) {
    const auto* asked = request.if_object();
    const auto* method = asked == nullptr ? nullptr : asked->if_contains("method");
    const auto* params = asked == nullptr ? nullptr : object_at(*asked, "params");
    if (method == nullptr || !method->is_string() || params == nullptr) return std::nullopt;
    auto answer = answer_to(std::string_view(method->get_string()), *params);
    if (!answer) return std::nullopt;
    out.responses[name] = std::move(*answer);
  }
  return out;
}

}  // namespace conformance
