#include "toolserver/connectors/lake/lake_capabilities.h"

#include <fmt/format.h>

#include <cstdlib>

namespace tool::lake {
namespace {

using base::json::Object;

constexpr const char* kName = R"({"type":"string","minLength":1,"maxLength":1024})";
constexpr const char* kNames = R"({"type":"array","items":{"type":"string"}})";
constexpr const char* kColumns =
    R"({"type":"array","items":{"type":"object","required":["name","type"],)"
    R"("properties":{"name":{"type":"string"},"type":{"type":"string"}}}})";

// The texts are ours, so a fault in one is a broken build.
Object schema(const std::string& text) {
  auto value = base::json::parse(text);
  if (!value || !value->is_object()) std::abort();
  return std::move(value->get_object());
}

Object of_members(std::string_view required, std::string_view members) {
  return schema(fmt::format(
      R"({{"type":"object","required":[{}],"additionalProperties":false,"properties":{{{}}}}})",
      required, members));
}

Object answer_of(std::string_view required, std::string_view members) {
  return schema(
      fmt::format(R"({{"type":"object","required":[{}],"properties":{{{}}}}})", required, members));
}

Capability made(std::string_view tool, std::string title, std::string description, Object input,
                Object output, const LakeOptions& options) {
  auto id = ToolId::parse(tool);
  if (!id) std::abort();
  return Capability{.id = *std::move(id),
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

}  // namespace

std::vector<Capability> lake_capabilities(const LakeOptions& options) {
  const std::string table = fmt::format(R"("namespace":{},"table":{})", kName, kName);
  std::vector<Capability> list;
  list.push_back(
      made(kListNamespaces, "List the namespaces of the lake",
           "Names of namespaces that you may read, at the top or in `parent`. Levels are "
           "parted by dots.",
           of_members("", fmt::format(R"("parent":{})", kName)),
           answer_of(R"("namespaces")", fmt::format(R"("namespaces":{})", kNames)), options));
  list.push_back(made(kListTables, "List the tables of a namespace",
                      "Names of the tables of a namespace.",
                      of_members(R"("namespace")", fmt::format(R"("namespace":{})", kName)),
                      answer_of(R"("tables")", fmt::format(R"("tables":{})", kNames)), options));
  list.push_back(
      made(kDescribeTable, "Describe a table of the lake",
           "Columns of a table with their Iceberg types and notes, as you are shown them.",
           of_members(R"("namespace","table")", table),
           answer_of(R"("columns")", fmt::format(R"("namespace":{{"type":"string"}},"table":)"
                                                 R"({{"type":"string"}},"columns":{})",
                                                 kColumns)),
           options));
  list.push_back(made(
      kExplainAccess, "Explain what you see of a table",
      "Which columns of a table are masked for you, by what, and which rows are kept from you. "
      "Masks are decided by the lake for the person you ask for and for this service together; "
      "nothing here lifts them.",
      of_members(R"("namespace","table")", table),
      answer_of(
          R"("masked_columns","explanation")",
          R"("masked_columns":{"type":"array","items":{"type":"object","required":["column"],)"
          R"("properties":{"column":{"type":"string"},"shown_as":{"type":"string"},)"
          R"("note":{"type":"string"}}}},"row_filter":{"type":"string"},)"
          R"("explanation":{"type":"string"},"asked_as":{"type":"string"})"),
      options));
  list.push_back(made(
      kQuery, "Query tables of the lake",
      "Runs one SELECT (DuckDB's dialect) over tables of the lake, named NAMESPACE.TABLE, or "
      "\"a.b\".TABLE in a nested namespace, and returns its rows. You get what the lake shows the "
      "person you ask for through this service: columns may be masked and rows missing; "
      "lake.explain_access says why. Values go as parameters $1, $2 and on. Integers beyond 2^53 - "
      "1 and DECIMAL come as text, times as ISO 8601, blobs as base64.",
      of_members(R"("sql")",
                 fmt::format(R"("sql":{{"type":"string","minLength":1,"maxLength":65536}},)"
                             R"("params":{{"type":"array","maxItems":256,"items":{{"type":)"
                             R"(["null","boolean","number","string"],"maxLength":65536}}}},)"
                             R"("limit":{{"type":"integer","minimum":1,"maximum":{}}})",
                             options.rows)),
      answer_of(R"("columns","rows","row_count","truncated")",
                fmt::format(R"("columns":{},"rows":{{"type":"array","items":{{"type":"array"}}}},)"
                            R"("row_count":{{"type":"integer"}},"truncated":{{"type":"boolean"}})",
                            kColumns)),
      options));
  return list;
}

}  // namespace tool::lake
