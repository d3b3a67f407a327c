#include "toolserver/connectors/lake/iceberg_type.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

#include "base/duckdb/sql_text.h"
#include "base/json/fields.h"

namespace tool::lake {
namespace {

using base::ErrorKind;
using base::Result;
using base::json::Fields;
using base::json::Value;

constexpr auto kWords = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"boolean", "BOOLEAN"},
    {"int", "INTEGER"},
    {"long", "BIGINT"},
    {"float", "FLOAT"},
    {"double", "DOUBLE"},
    {"date", "DATE"},
    {"time", "TIME"},
    {"timestamp", "TIMESTAMP"},
    {"timestamptz", "TIMESTAMPTZ"},
    {"timestamp_ns", "TIMESTAMP_NS"},
    {"string", "VARCHAR"},
    {"uuid", "UUID"},
    {"binary", "BLOB"},
});

// "decimal(10,2)" or "decimal(10, 2)", in the engine's own bounds.
std::optional<std::string> decimal(std::string_view text) {
  if (!text.starts_with("decimal(") || !text.ends_with(')')) return std::nullopt;
  text.remove_prefix(8);
  text.remove_suffix(1);
  const char* end = text.data() + text.size();
  unsigned precision = 0, scale = 0;
  auto [comma, bad] = std::from_chars(text.data(), end, precision);
  if (bad != std::errc() || comma == end || *comma != ',') return std::nullopt;
  ++comma;
  while (comma != end && *comma == ' ') ++comma;
  auto [last, worse] = std::from_chars(comma, end, scale);
  if (worse != std::errc() || last != end || precision == 0 || precision > 38 ||
      scale > precision) {
    return std::nullopt;
  }
  return fmt::format("DECIMAL({},{})", precision, scale);
}

Result<std::string> word_type(std::string_view word, const std::string& path) {
  for (const auto& [iceberg, engine] : kWords) {
    if (word == iceberg) return std::string(engine);
  }
  if (auto made = decimal(word)) return *std::move(made);
  if (word.starts_with("fixed[") && word.ends_with(']')) return std::string("BLOB");
  return base::fail(ErrorKind::kUnsupported,
                    fmt::format("{}: the type {} cannot be read here", path, word.substr(0, 64)));
}

Result<std::string> struct_type(const Fields& type, connectors::BroughtColumn& column) {
  std::string list;
  ASSIGN_OR_RETURN(auto fields, type.objects("fields"));
  if (fields.empty()) {
    return base::fail(ErrorKind::kUnsupported, type.path() + ": a struct without fields");
  }
  for (const Fields& field : fields) {
    ASSIGN_OR_RETURN(const std::int32_t id, field.int32("id"));
    ASSIGN_OR_RETURN(const std::string name, field.string("name"));
    ASSIGN_OR_RETURN(const Value* of, field.value("type"));
    ASSIGN_OR_RETURN(const std::string engine, engine_type(*of, column, field.path_of("type")));
    column.fields[id] = name;
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", base::duckdb::quote_identifier(name),
                        engine);
  }
  return "STRUCT(" + list + ")";
}

Result<std::string> element_type(const Fields& type, const char* id, const char* member,
                                 connectors::BroughtColumn& column) {
  ASSIGN_OR_RETURN(const std::int32_t number, type.int32(id));
  ASSIGN_OR_RETURN(const Value* of, type.value(member));
  column.elements.push_back(number);
  return engine_type(*of, column, type.path_of(member));
}

}  // namespace

Result<std::string> engine_type(const Value& type, connectors::BroughtColumn& column,
                                const std::string& path) {
  if (type.is_string()) return word_type(std::string_view(type.get_string()), path);
  ASSIGN_OR_RETURN(Fields fields, Fields::of(type, path));
  ASSIGN_OR_RETURN(const std::string kind, fields.string("type"));
  if (kind == "struct") return struct_type(fields, column);
  if (kind == "list") {
    ASSIGN_OR_RETURN(const std::string element,
                     element_type(fields, "element-id", "element", column));
    return element + "[]";
  }
  if (kind == "map") {
    ASSIGN_OR_RETURN(const std::string key, element_type(fields, "key-id", "key", column));
    ASSIGN_OR_RETURN(const std::string value, element_type(fields, "value-id", "value", column));
    return fmt::format("MAP({}, {})", key, value);
  }
  return base::fail(ErrorKind::kUnsupported,
                    fmt::format("{}: the type {} cannot be read here", path, kind.substr(0, 64)));
}

}  // namespace tool::lake
