#include "lakeproxy/from_iceberg/files/path_values.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "lakeproxy/mapping/lake_text.h"

namespace lake::operation {
namespace {

constexpr std::string_view kNull = "__HIVE_DEFAULT_PARTITION__";

std::vector<std::string> names_of(const model::Field& column, const model::NameMapping& mapping) {
  std::vector<std::string> names{column.name};
  for (const model::MappedField& field : mapping) {
    if (field.id == column.id) names.insert(names.end(), field.names.begin(), field.names.end());
  }
  return names;
}

// As DuckDB does it: an escape that is none stays as it is.
std::string without_escapes(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* begin = text.data() + i + 1;
    const bool escape = text[i] == '%' && i + 2 < text.size() &&
                        std::from_chars(begin, begin + 2, byte, 16).ptr == begin + 2;
    result += escape ? static_cast<char>(byte) : text[i];
    if (escape) i += 2;
  }
  return result;
}

bool says(std::string_view text, const model::Field& column,
          const std::optional<model::Literal>& value) {
  if (text == kNull) return !value;
  // DuckDB takes these for null in some types.
  const bool unclear = text.empty() || text == "NULL" || text == "null";
  if (!value || unclear) return false;
  auto said = model::parse_lake_text(column.type, without_escapes(text));
  return said && *said == *value;
}

}  // namespace

std::optional<std::string> name_in_path(std::string_view path, const model::Field& column,
                                        const model::NameMapping& mapping,
                                        const std::optional<model::Literal>& value) {
  const auto names = names_of(column, mapping);
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    const std::size_t equal = part.find('=');
    begin = end + 1;
    if (equal == std::string_view::npos || end == path.size()) continue;
    auto name = std::ranges::find(names, part.substr(0, equal));
    if (name == names.end()) continue;
    if (!says(part.substr(equal + 1), column, value)) return std::nullopt;
    return *name;
  }
  return std::nullopt;
}

}  // namespace lake::operation
