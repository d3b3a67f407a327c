#include "toolserver/connectors/files/file_capabilities.h"

#include <fmt/format.h>

#include "base/json/json.h"
#include "toolserver/connectors/files/relative_path.h"

namespace tool::files {
namespace {

using base::Result;
using base::json::Array;
using base::json::Object;

constexpr std::string_view kSchemaDialect = "https://json-schema.org/draft/2020-12/schema";
// Beside the content, which a read returns twice and as base64 at worst.
constexpr std::size_t kReplyFrame = 64 << 10;

Object object_schema(Object properties, std::vector<std::string_view> required) {
  Array names;
  for (auto name : required) names.emplace_back(name);
  return {{"$schema", kSchemaDialect},
          {"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(names)},
          {"additionalProperties", false}};
}

Object path_schema(std::string_view description) {
  return {{"type", "string"},
          {"minLength", 1},
          {"maxLength", PathLimits::kBytes},
          {"description", description}};
}

Object word_schema(std::string_view first, std::string_view second, std::string_view fallback,
                   std::string_view description) {
  return {{"type", "string"},
          {"enum", Array{first, second}},
          {"default", fallback},
          {"description", description}};
}

Object number_schema(std::string_view description) {
  return {{"type", "integer"}, {"minimum", 0}, {"description", description}};
}

Object flag_schema(std::string_view description) {
  return {{"type", "boolean"}, {"description", description}};
}

Object text_schema(std::string_view description) {
  return {{"type", "string"}, {"description", description}};
}

Object entry_properties() {
  return {{"path", text_schema("Relative to the root.")},
          {"type", {{"type", "string"}, {"enum", Array{"file", "folder"}}}},
          {"size", number_schema("Bytes; of files only.")},
          {"modified", {{"type", "string"}, {"format", "date-time"}}}};
}

std::string allowed_extensions(const FilesOptions& options) {
  return fmt::format("Allowed extensions: {}.", fmt::join(options.extensions, ", "));
}

Capability base_of(ToolId id, std::string_view title, std::string description) {
  Capability out{.id = std::move(id)};
  out.title = title;
  out.description = std::move(description);
  out.annotations = {
      .read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  return out;
}

Capability read_tool(ToolId id, const FilesOptions& options) {
  auto out = base_of(std::move(id), "Read a file",
                     fmt::format("Returns a file's content, at most {} bytes a call; ask for a "
                                 "range of a longer one. {}",
                                 options.read_cap, allowed_extensions(options)));
  out.input_schema = object_schema(
      {{"path", path_schema("The file, relative to the root, parted by '/'.")},
       {"offset", number_schema("First byte; 0 when absent.")},
       {"length", number_schema("Bytes; to the end when absent.")},
       {"encoding", word_schema("text", "base64", "text", "text for UTF-8, else base64.")}},
      {"path"});
  out.output_schema = object_schema(
      {{"path", text_schema("The file.")},
       {"size", number_schema("Bytes of the whole file.")},
       {"offset", number_schema("First byte returned.")},
       {"length", number_schema("Bytes returned; the next range starts behind them.")},
       {"end", flag_schema("Whether the file ends here.")},
       {"encoding", {{"type", "string"}, {"enum", Array{"text", "base64"}}}},
       {"content", text_schema("The bytes in that encoding.")}},
      {"path", "size", "offset", "length", "end", "encoding", "content"});
  out.limits.output_bytes = static_cast<std::size_t>(options.read_cap) * 3 + kReplyFrame;
  return out;
}

Capability list_tool(ToolId id, const FilesOptions& options) {
  auto out = base_of(std::move(id), "List a folder",
                     fmt::format("Lists folders and files in the order of their names, at most {} "
                                 "a call; a cursor in the answer continues it. {}",
                                 options.list_cap, allowed_extensions(options)));
  out.input_schema = object_schema(
      {{"path", path_schema("The folder, relative to the root; the root when absent.")},
       {"recursive", flag_schema("Whether to list the folders below, too.")},
       {"cursor", text_schema("From the answer before.")}},
      {});
  out.output_schema =
      object_schema({{"path", text_schema("The folder; empty for the root.")},
                     {"entries",
                      {{"type", "array"},
                       {"items", object_schema(entry_properties(), {"path", "type", "modified"})}}},
                     {"cursor", text_schema("There when more entries follow.")}},
                    {"path", "entries"});
  return out;
}

Capability stat_tool(ToolId id, const FilesOptions& options) {
  auto out = base_of(std::move(id), "Describe a file or folder",
                     "Tells type, size and time of change. " + allowed_extensions(options));
  out.input_schema =
      object_schema({{"path", path_schema("File or folder, relative to the root.")}}, {"path"});
  out.output_schema = object_schema(entry_properties(), {"path", "type", "modified"});
  return out;
}

Capability write_tool(ToolId id, const FilesOptions& options) {
  auto out = base_of(std::move(id), "Write a file",
                     fmt::format("Writes a whole file of at most {} bytes into an existing folder; "
                                 "others see the old file or the new one, never a part. {}",
                                 options.write_cap, allowed_extensions(options)));
  out.input_schema = object_schema(
      {{"path", path_schema("The file, relative to the root, parted by '/'.")},
       {"content", text_schema("The whole content.")},
       {"encoding", word_schema("text", "base64", "text", "How the content is given.")},
       {"mode", word_schema("create", "replace", "create",
                            "create fails when the file exists; replace does not.")}},
      {"path", "content"});
  out.output_schema = object_schema({{"path", text_schema("The file.")},
                                     {"size", number_schema("Bytes of the file.")},
                                     {"created", flag_schema("Whether there was none before.")},
                                     {"dry_run", flag_schema("Whether nothing was written.")}},
                                    {"path", "size", "created", "dry_run"});
  out.annotations.read_only = false;
  out.annotations.destructive = true;
  out.annotations.idempotent = false;
  out.consent = options.write_consent;
  return out;
}

Capability delete_tool(ToolId id, const FilesOptions& options) {
  auto out = base_of(std::move(id), "Delete a file",
                     "Deletes one file for good; not folders. " + allowed_extensions(options));
  out.input_schema =
      object_schema({{"path", path_schema("The file, relative to the root.")}}, {"path"});
  out.output_schema = object_schema({{"path", text_schema("The file.")},
                                     {"deleted", flag_schema("Whether it is gone.")},
                                     {"dry_run", flag_schema("Whether nothing was deleted.")}},
                                    {"path", "deleted", "dry_run"});
  out.annotations.read_only = false;
  out.annotations.destructive = true;
  out.annotations.idempotent = false;
  out.consent = options.delete_consent;
  return out;
}

}  // namespace

Result<std::vector<Capability>> file_capabilities(const FilesOptions& options) {
  std::vector<Capability> out;
  auto add = [&](std::string_view name, auto make) -> base::Status {
    ASSIGN_OR_RETURN(ToolId id, ToolId::parse(fmt::format("{}.{}", options.space, name)));
    out.push_back(make(std::move(id), options));
    return {};
  };
  RETURN_IF_ERROR(add("read", read_tool));
  RETURN_IF_ERROR(add("list", list_tool));
  RETURN_IF_ERROR(add("stat", stat_tool));
  if (options.allow_write == Permission::kAllowed) RETURN_IF_ERROR(add("write", write_tool));
  if (options.allow_delete == Permission::kAllowed) RETURN_IF_ERROR(add("delete", delete_tool));
  return out;
}

}  // namespace tool::files
