#include "base/duckdb/nested_sql.h"

#include <fmt/format.h>

#include "base/duckdb/sql_text.h"

namespace base::duckdb {

std::string struct_part(std::string_view value, std::string_view name) {
  return fmt::format("({})[{}]", value, quote_literal(name));
}

std::string rebuilt_struct(std::string_view value, const std::vector<StructPart>& parts) {
  std::string text;
  for (const StructPart& part : parts) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} := {}", quote_identifier(part.name), part.value);
  }
  return fmt::format("CASE WHEN ({}) IS NULL THEN NULL ELSE struct_pack({}) END", value, text);
}

std::string rebuilt_list(std::string_view value, std::string_view element, std::string_view made) {
  return fmt::format("list_transform({}, lambda {}: {})", value, element, made);
}

std::string map_key(std::string_view entry) { return fmt::format("{}.key", entry); }

std::string map_value(std::string_view entry) { return fmt::format("{}.value", entry); }

std::string rebuilt_map(std::string_view value, std::string_view entry, std::string_view key,
                        std::string_view held) {
  return fmt::format(
      "CASE WHEN ({0}) IS NULL THEN NULL ELSE map_from_entries(list_transform(map_entries({0}), "
      "lambda {1}: struct_pack(key := {2}, value := {3}))) END",
      value, entry, key, held);
}

}  // namespace base::duckdb
