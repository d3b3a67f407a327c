#include "toolserver/mcp/tool_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/crypto/encoding.h"
#include "base/json/fields.h"

namespace tool::mcp {
namespace {

namespace json = base::json;

constexpr std::size_t kNameBytes = 128;

json::Value text(std::string_view value) { return boost::json::string(value); }

base::Status read_hint(const json::Fields& hints, std::string_view member, bool& into) {
  ASSIGN_OR_RETURN(auto value, hints.opt_boolean(member));
  if (value) into = *value;
  return {};
}

base::Result<Content> read_bytes(const json::Fields& fields, std::string_view kind) {
  Content out;
  ASSIGN_OR_RETURN(out.media_type, fields.string("mimeType"));
  if (!out.media_type.starts_with(std::string(kind) + "/")) {
    return base::fail(base::ErrorKind::kInvalid,
                      fmt::format("{}: must be of {}/", fields.path_of("mimeType"), kind));
  }
  ASSIGN_OR_RETURN(std::string data, fields.string("data"));
  auto bytes = base::crypto::from_base64(data, data.size());
  if (!bytes) return std::move(bytes).error().with_context(fields.path_of("data"));
  out.data = std::move(*bytes);
  return out;
}

base::Result<Content> read_resource(const json::Fields& resource) {
  Content out;
  out.part_of = PartOf::kResource;
  ASSIGN_OR_RETURN(out.uri, resource.string("uri"));
  ASSIGN_OR_RETURN(auto type, resource.opt_string("mimeType"));
  ASSIGN_OR_RETURN(auto written, resource.opt_string("text"));
  if (written) {
    out.media_type = type.value_or("text/plain");
    // Text of a type that we take for bytes stays text.
    if (!out.is_text()) out.media_type = "text/plain";
    out.data = std::move(*written);
    return out;
  }
  out.media_type = type.value_or("application/octet-stream");
  ASSIGN_OR_RETURN(std::string blob, resource.string("blob"));
  auto bytes = base::crypto::from_base64(blob, blob.size());
  if (!bytes) return std::move(bytes).error().with_context(resource.path_of("blob"));
  out.data = std::move(*bytes);
  if (out.is_text()) out.media_type = "application/octet-stream";
  return out;
}

base::Result<Content> read_link(const json::Fields& fields) {
  Content out;
  out.part_of = PartOf::kLink;
  ASSIGN_OR_RETURN(out.uri, fields.string("uri"));
  ASSIGN_OR_RETURN(out.name, fields.string("name"));
  ASSIGN_OR_RETURN(auto type, fields.opt_string("mimeType"));
  out.media_type = type.value_or("application/octet-stream");
  return out;
}

base::Result<InputNeeded> read_input_needed(const json::Fields& fields) {
  InputNeeded needed;
  if (const auto* requests = fields.find("inputRequests")) {
    if (!requests->is_object()) {
      return base::fail(base::ErrorKind::kInvalid, "inputRequests: must be an object");
    }
    needed.requests = requests->get_object();
  }
  ASSIGN_OR_RETURN(auto state, fields.opt_string("requestState"));
  needed.state = state.value_or("");
  return needed;
}

}  // namespace

json::Object write_tool(const Capability& capability, std::string_view name) {
  json::Object out{{"name", text(name)}};
  if (!capability.title.empty()) out["title"] = capability.title;
  out["description"] = capability.description;
  out["inputSchema"] = capability.input_schema;
  if (capability.output_schema) out["outputSchema"] = *capability.output_schema;
  const Annotations& hints = capability.annotations;
  out["annotations"] = json::Object{{"readOnlyHint", hints.read_only},
                                    {"destructiveHint", hints.destructive},
                                    {"idempotentHint", hints.idempotent},
                                    {"openWorldHint", hints.open_world}};
  return out;
}

json::Object write_tool(const json::Object& record) {
  json::Object out;
  if (const auto* id = record.if_contains("id")) out["name"] = *id;
  for (std::string_view member :
       {"title", "description", "inputSchema", "outputSchema", "annotations"}) {
    if (const auto* found = record.if_contains(member)) out[member] = *found;
  }
  return out;
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytes && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

base::Result<ToolDescription> read_tool(const json::Value& value) {
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(value, "tool"));
  ToolDescription out;
  ASSIGN_OR_RETURN(out.name, fields.string("name"));
  if (!is_name(out.name)) {
    return base::fail(base::ErrorKind::kInvalid,
                      "tool.name: must be 1 to 128 of A-Z, a-z, 0-9, '_', '-' and '.'");
  }
  ASSIGN_OR_RETURN(auto title, fields.opt_string("title"));
  ASSIGN_OR_RETURN(auto description, fields.opt_string("description"));
  out.description = description.value_or("");
  ASSIGN_OR_RETURN(auto input, fields.value("inputSchema"));
  if (!input->is_object()) {
    return base::fail(base::ErrorKind::kInvalid, "tool.inputSchema: must be an object");
  }
  out.input_schema = input->get_object();
  if (const auto* output = fields.find("outputSchema")) {
    if (!output->is_object()) {
      return base::fail(base::ErrorKind::kInvalid, "tool.outputSchema: must be an object");
    }
    out.output_schema = output->get_object();
  }
  ASSIGN_OR_RETURN(auto hints, fields.opt_object("annotations"));
  if (hints) {
    // Where the title stood before it was a member of the tool.
    ASSIGN_OR_RETURN(auto old_title, hints->opt_string("title"));
    if (!title) title = std::move(old_title);
    RETURN_IF_ERROR(read_hint(*hints, "readOnlyHint", out.annotations.read_only));
    RETURN_IF_ERROR(read_hint(*hints, "destructiveHint", out.annotations.destructive));
    RETURN_IF_ERROR(read_hint(*hints, "idempotentHint", out.annotations.idempotent));
    RETURN_IF_ERROR(read_hint(*hints, "openWorldHint", out.annotations.open_world));
  }
  out.title = title.value_or("");
  return out;
}

json::Object write_contents(const Content& content) {
  json::Object out{{"uri", content.uri}, {"mimeType", content.media_type}};
  if (content.is_text()) {
    out["text"] = content.data;
  } else {
    out["blob"] = base::crypto::to_base64(content.data);
  }
  return out;
}

json::Object write_content(const Content& content, std::size_t index) {
  if (content.part_of == PartOf::kLink) {
    return {{"type", "resource_link"},
            {"uri", content.uri},
            {"name", content.name},
            {"mimeType", content.media_type}};
  }
  if (content.part_of == PartOf::kAnswer) {
    if (content.is_text()) return {{"type", "text"}, {"text", content.data}};
    for (std::string_view kind : {"image", "audio"}) {
      if (!content.media_type.starts_with(std::string(kind) + "/")) continue;
      return {{"type", text(kind)},
              {"data", base::crypto::to_base64(content.data)},
              {"mimeType", content.media_type}};
    }
  }
  json::Object contents = write_contents(content);
  if (content.uri.empty()) contents["uri"] = fmt::format("attachment:{}", index);
  return {{"type", "resource"}, {"resource", std::move(contents)}};
}

base::Result<Content> read_content(const json::Value& value) {
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(value, "content"));
  ASSIGN_OR_RETURN(std::string type, fields.string("type"));
  if (type == "text") {
    Content out;
    ASSIGN_OR_RETURN(out.data, fields.string("text"));
    return out;
  }
  if (type == "image" || type == "audio") return read_bytes(fields, type);
  if (type == "resource") {
    ASSIGN_OR_RETURN(auto resource, fields.object("resource"));
    return read_resource(resource);
  }
  if (type == "resource_link") return read_link(fields);
  return base::fail(base::ErrorKind::kInvalid, "content.type: is not known");
}

base::Result<Content> read_contents_part(const json::Value& value) {
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(value, "contents"));
  return read_resource(fields);
}

json::Object write_result(const ToolResult& result, Revision revision, const std::string& state) {
  json::Object out;
  if (result.input_needed) {
    out["resultType"] = "input_required";
    if (!result.input_needed->requests.empty()) {
      out["inputRequests"] = result.input_needed->requests;
    }
    if (!state.empty()) out["requestState"] = state;
    return out;
  }
  if (is_stateless(revision)) out["resultType"] = "complete";
  json::Array parts;
  for (std::size_t i = 0; i < result.content.size(); ++i) {
    parts.push_back(write_content(result.content[i], i));
  }
  out["content"] = std::move(parts);
  if (result.structured) out["structuredContent"] = *result.structured;
  if (result.is_error) out["isError"] = true;
  return out;
}

base::Result<ToolResult> read_result(json::Object result) {
  json::Value value(std::move(result));
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(value, ""));
  ASSIGN_OR_RETURN(auto type, fields.opt_string("resultType"));
  ToolResult out;
  if (type && *type == "input_required") {
    ASSIGN_OR_RETURN(out.input_needed, read_input_needed(fields));
    return out;
  }
  if (type && *type != "complete") {
    return base::fail(base::ErrorKind::kInvalid, "resultType: is not known");
  }
  ASSIGN_OR_RETURN(const json::Array* parts, fields.array("content"));
  for (const json::Value& part : *parts) {
    ASSIGN_OR_RETURN(Content content, read_content(part));
    out.content.push_back(std::move(content));
  }
  if (auto* structured = value.get_object().if_contains("structuredContent")) {
    out.structured = std::move(*structured);
  }
  ASSIGN_OR_RETURN(auto is_error, fields.opt_boolean("isError"));
  out.is_error = is_error.value_or(false);
  return out;
}

}  // namespace tool::mcp
