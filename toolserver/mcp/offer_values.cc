#include "toolserver/mcp/offer_values.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/json/fields.h"
#include "toolserver/mcp/resource_uri.h"
#include "toolserver/mcp/tool_values.h"

namespace tool::mcp {
namespace {

namespace json = base::json;

constexpr std::size_t kNameBytes = 256;
constexpr std::size_t kDescriptionBytes = 4'096;
constexpr std::size_t kMediaTypeBytes = 128;
constexpr std::size_t kMostArguments = 64;
constexpr std::size_t kMostParts = 256;

base::Error invalid(std::string rule) {
  return base::fail(base::ErrorKind::kInvalid, std::move(rule));
}

base::Result<std::string> short_text(const json::Fields& fields, std::string_view member,
                                     std::size_t most) {
  ASSIGN_OR_RETURN(auto text, fields.opt_string(member));
  if (text && text->size() > most) {
    return invalid(fmt::format("{}: is over {} bytes", fields.path_of(member), most));
  }
  return text.value_or("");
}

base::Result<PromptArgumentDescription> read_argument(const json::Fields& fields) {
  PromptArgumentDescription out;
  ASSIGN_OR_RETURN(out.name, short_text(fields, "name", kNameBytes));
  if (out.name.empty()) return invalid("prompt.arguments.name: must be a text of 1 to 256 bytes");
  ASSIGN_OR_RETURN(out.title, short_text(fields, "title", kNameBytes));
  ASSIGN_OR_RETURN(out.description, short_text(fields, "description", kDescriptionBytes));
  ASSIGN_OR_RETURN(auto required, fields.opt_boolean("required"));
  out.required = required.value_or(false);
  return out;
}

// Where a server asks for input, or the parts of its answer.
base::Result<const json::Array*> parts_of(const json::Fields& fields, std::string_view member,
                                          ToolResult& out) {
  ASSIGN_OR_RETURN(auto type, fields.opt_string("resultType"));
  if (type && *type == "input_required") {
    out.input_needed.emplace();
    return nullptr;
  }
  if (type && *type != "complete") return invalid("resultType: is not known");
  ASSIGN_OR_RETURN(const json::Array* parts, fields.array(member));
  if (parts->size() > kMostParts) return invalid(fmt::format("{}: has over 256 parts", member));
  return parts;
}

}  // namespace

json::Object ResourceDescription::to_json(std::string_view member) const {
  json::Object out{{member, uri}, {"name", name}};
  for (auto [key, text] : {std::pair{"title", &title}, std::pair{"description", &description},
                           std::pair{"mimeType", &media_type}}) {
    if (!text->empty()) out[key] = *text;
  }
  return out;
}

base::Result<ResourceDescription> read_resource(const json::Value& value, std::string_view member) {
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(value, "resource"));
  ResourceDescription out;
  ASSIGN_OR_RETURN(out.uri, fields.string(member));
  ASSIGN_OR_RETURN(out.name, short_text(fields, "name", kNameBytes));
  if (out.name.empty()) return invalid("resource.name: must be a text of 1 to 256 bytes");
  ASSIGN_OR_RETURN(out.title, short_text(fields, "title", kNameBytes));
  ASSIGN_OR_RETURN(out.description, short_text(fields, "description", kDescriptionBytes));
  ASSIGN_OR_RETURN(out.media_type, short_text(fields, "mimeType", kMediaTypeBytes));
  return out;
}

base::Result<PromptDescription> read_prompt(const json::Value& value) {
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(value, "prompt"));
  PromptDescription out;
  ASSIGN_OR_RETURN(out.name, fields.string("name"));
  if (!is_name(out.name)) {
    return invalid("prompt.name: must be 1 to 128 of A-Z, a-z, 0-9, '_', '-' and '.'");
  }
  ASSIGN_OR_RETURN(out.title, short_text(fields, "title", kNameBytes));
  ASSIGN_OR_RETURN(out.description, short_text(fields, "description", kDescriptionBytes));
  if (fields.find("arguments") == nullptr) return out;
  ASSIGN_OR_RETURN(auto arguments, fields.objects("arguments"));
  if (arguments.size() > kMostArguments) return invalid("prompt.arguments: are over 64");
  std::set<std::string, std::less<>> names;
  for (const auto& one : arguments) {
    ASSIGN_OR_RETURN(auto argument, read_argument(one));
    if (!names.insert(argument.name).second) {
      return invalid("prompt.arguments: two have one name");
    }
    out.arguments.push_back(std::move(argument));
  }
  return out;
}

base::Result<ToolResult> read_contents(json::Object result) {
  json::Value value(std::move(result));
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(value, ""));
  ToolResult out;
  ASSIGN_OR_RETURN(const json::Array* parts, parts_of(fields, "contents", out));
  if (parts == nullptr) return out;
  for (const json::Value& part : *parts) {
    ASSIGN_OR_RETURN(Content content, read_contents_part(part));
    if (!is_uri(content.uri)) return invalid("contents.uri: must be a URI");
    out.content.push_back(std::move(content));
  }
  return out;
}

base::Result<ToolResult> read_prompt_text(json::Object result) {
  json::Value value(std::move(result));
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(value, ""));
  ToolResult out;
  ASSIGN_OR_RETURN(const json::Array* parts, parts_of(fields, "messages", out));
  if (parts == nullptr) return out;
  json::Array roles;
  for (const json::Value& part : *parts) {
    ASSIGN_OR_RETURN(auto message, json::Fields::of(part, "messages"));
    ASSIGN_OR_RETURN(std::string role, message.string("role"));
    if (role != "user" && role != "assistant") {
      return invalid("messages.role: must be user or assistant");
    }
    ASSIGN_OR_RETURN(const json::Value* said, message.value("content"));
    ASSIGN_OR_RETURN(Content content, read_content(*said));
    if (content.part_of != PartOf::kAnswer && !is_uri(content.uri)) {
      return invalid("messages.content.uri: must be a URI");
    }
    roles.emplace_back(role);
    out.content.push_back(std::move(content));
  }
  json::Object structured{{"roles", std::move(roles)}};
  ASSIGN_OR_RETURN(auto description, short_text(fields, "description", kDescriptionBytes));
  if (!description.empty()) structured["description"] = description;
  out.structured = std::move(structured);
  return out;
}

}  // namespace tool::mcp
