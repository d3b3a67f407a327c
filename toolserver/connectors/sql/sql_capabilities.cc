#include "toolserver/connectors/sql/sql_capabilities.h"

#include <fmt/format.h>

#include <cstdlib>

namespace tool::connectors {
namespace {

using base::json::Object;

// The texts are ours, so a fault in one is a broken build.
Object schema(const std::string& text) {
  auto value = base::json::parse(text);
  if (!value || !value->is_object()) std::abort();
  return std::move(value->get_object());
}

ToolId id(std::string_view text) {
  auto made = ToolId::parse(text);
  if (!made) std::abort();
  return *std::move(made);
}

constexpr const char* kColumns =
    R"("columns":{"type":"array","items":{"type":"object","required":["name","type"],)"
    R"("properties":{"name":{"type":"string"},"type":{"type":"string"}}}})";
constexpr const char* kTable =
    R"("name":{"type":"string"},"file":{"type":"string"},"row_count":{"type":"integer"})";
constexpr const char* kTableName = R"({"type":"string","pattern":"^[A-Za-z_][A-Za-z0-9_]{0,62}$"})";

Capability made(std::string_view tool, std::string title, std::string description, Object input,
                Object output, const SqlOptions& options) {
  return Capability{.id = id(tool),
                    .title = std::move(title),
                    .description = std::move(description),
                    .input_schema = std::move(input),
                    .output_schema = std::move(output),
                    .annotations = {.read_only = true,
                                    .destructive = false,
                                    .idempotent = true,
                                    .open_world = false},
                    .origin_name = {},
                    .limits = {.time = options.time, .output_bytes = options.bytes}};
}

Capability query(const SqlOptions& options) {
  std::string files =
      options.allow_raw_file_sql
          ? " read_parquet, read_csv, read_json and FROM 'file' take files of the data folder."
          : "";
  return made(
      "sql.query", "Run a SQL query",
      "Runs one SELECT (DuckDB's dialect) over the loaded tables and returns its rows. Values go "
      "as parameters $1, $2 and on. Integers beyond 2^53 - 1, HUGEINT and DECIMAL come as text, "
      "times as ISO 8601, blobs as base64." +
          files,
      schema(fmt::format(
          R"({{"type":"object","required":["sql"],"additionalProperties":false,"properties":{{)"
          R"("sql":{{"type":"string","minLength":1,"maxLength":{}}},)"
          R"("params":{{"type":"array","maxItems":{},"items":{{"type":["null","boolean","number","string"],)"
          R"("maxLength":{}}}}},)"
          R"("limit":{{"type":"integer","minimum":1,"maximum":{}}},)"
          R"("format":{{"type":"string","enum":["json","arrow"]}}}}}})",
          options.statement_bytes, options.params, options.param_bytes, options.rows)),
      schema(fmt::format(
          R"({{"type":"object","required":["columns","row_count","truncated"],"properties":{{{},)"
          R"("rows":{{"type":"array","items":{{"type":"array"}}}},)"
          R"("row_count":{{"type":"integer"}},"truncated":{{"type":"boolean"}}}}}})",
          kColumns)),
      options);
}

Capability list_tables(const SqlOptions& options) {
  return made(
      "sql.list_tables", "List the tables", "Lists the tables that were loaded.",
      schema(R"({"type":"object","additionalProperties":false,"properties":{}})"),
      schema(fmt::format(
          R"({{"type":"object","required":["tables"],"properties":{{"tables":{{"type":"array",)"
          R"("items":{{"type":"object","required":["name"],"properties":{{{}}}}}}}}}}})",
          kTable)),
      options);
}

Capability describe(const SqlOptions& options) {
  return made(
      "sql.describe", "Describe a table", "Gives a table's columns, their types and its size.",
      schema(fmt::format(
          R"({{"type":"object","required":["table"],"additionalProperties":false,"properties":{{"table":{}}}}})",
          kTableName)),
      schema(
          fmt::format(R"({{"type":"object","required":["name","columns"],"properties":{{{},{}}}}})",
                      kTable, kColumns)),
      options);
}

Capability load(const SqlOptions& options) {
  Capability capability = made(
      "sql.load", "Load a file as a table",
      "Reads a Parquet, CSV or JSON file of the data folder into a table that all callers see.",
      schema(fmt::format(
          R"({{"type":"object","required":["file","table"],"additionalProperties":false,"properties":{{)"
          R"("file":{{"type":"string","minLength":1,"maxLength":1024}},"table":{},)"
          R"("replace":{{"type":"boolean"}}}}}})",
          kTableName)),
      schema(fmt::format(R"({{"type":"object","required":["name","file"],"properties":{{{},{}}}}})",
                         kTable, kColumns)),
      options);
  capability.annotations.read_only = false;
  capability.annotations.destructive = true;
  return capability;
}

Capability unload(const SqlOptions& options) {
  Capability capability = made(
      "sql.unload", "Unload a table",
      "Drops a loaded table for all callers and gives its memory back; its file stays.",
      schema(fmt::format(
          R"({{"type":"object","required":["table"],"additionalProperties":false,"properties":{{"table":{}}}}})",
          kTableName)),
      schema(fmt::format(R"({{"type":"object","required":["name","file"],"properties":{{{}}}}})",
                         kTable)),
      options);
  capability.annotations.read_only = false;
  capability.annotations.destructive = true;
  capability.annotations.idempotent = false;
  return capability;
}

}  // namespace

std::vector<Capability> sql_capabilities(const SqlOptions& options) {
  std::vector<Capability> list{query(options), list_tables(options), describe(options)};
  if (!options.data_dir.empty()) {
    list.push_back(load(options));
    list.push_back(unload(options));
  }
  return list;
}

}  // namespace tool::connectors
