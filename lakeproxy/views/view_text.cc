#include "lakeproxy/views/view_text.h"

#include <algorithm>

namespace lake::ducklake {
namespace {

constexpr std::string_view kCatalogMark = "{DUCKLAKE_CATALOG}.";
constexpr std::string_view kDuckDialect = "duckdb";

void append_quoted_name(std::string& out, std::string_view name) {
  out += '"';
  for (char c : name) out.append(c == '"' ? 2 : 1, c);
  out += '"';
}

bool is_plain_identifier(std::string_view name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// Where the text in quotes that begins at `begin` ends. A doubled quote ends it
// and begins another, which comes to the same.
std::size_t end_of_quoted(std::string_view sql, std::size_t begin) {
  const std::size_t end = sql.find(sql[begin], begin + 1);
  return end == std::string_view::npos ? sql.size() : end + 1;
}

}  // namespace

std::string quoted_list(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) {
    if (!list.empty()) list += ',';
    append_quoted_name(list, name);
  }
  return list;
}

std::optional<std::vector<std::string>> parse_quoted_list(std::string_view text) {
  std::vector<std::string> names;
  std::size_t at = 0;
  while (at < text.size()) {
    if (!names.empty() && text[at++] != ',') return std::nullopt;
    if (at >= text.size() || text[at++] != '"') return std::nullopt;
    std::string name;
    for (;; ++at) {
      if (at >= text.size()) return std::nullopt;
      if (text[at] == '"' && (at + 1 >= text.size() || text[at + 1] != '"')) break;
      if (text[at] == '"') ++at;
      name += text[at];
    }
    ++at;
    names.push_back(std::move(name));
  }
  return names;
}

std::string with_catalog(std::string_view sql, std::string_view catalog) {
  std::string shown;
  std::size_t at = 0;
  while (at < sql.size()) {
    if (sql[at] == '\'' || sql[at] == '"') {
      const std::size_t end = end_of_quoted(sql, at);
      shown += sql.substr(at, end - at);
      at = end;
    } else if (sql.substr(at).starts_with(kCatalogMark)) {
      if (is_plain_identifier(catalog)) {
        shown += catalog;
      } else {
        append_quoted_name(shown, catalog);
      }
      shown += '.';
      at += kCatalogMark.size();
    } else {
      shown += sql[at++];
    }
  }
  return shown;
}

LakeViewQuery lake_query(const model::ViewMetadata& view) {
  const auto& representations = view.current_version().representations;
  auto chosen = std::ranges::find_if(representations, [](const model::SqlRepresentation& one) {
    return model::lower_dialect(one.dialect) == kDuckDialect;
  });
  const bool ducks = chosen != representations.end();
  if (!ducks) chosen = representations.begin();
  std::vector<std::string> columns;
  for (const model::Field& field : view.current_schema().fields) columns.push_back(field.name);
  return {.dialect = ducks ? std::string(kDuckDialect) : chosen->dialect,
          .sql = chosen->sql,
          .column_aliases = quoted_list(columns)};
}

}  // namespace lake::ducklake
