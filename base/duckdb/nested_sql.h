#pragma once

// SQL that writes a nested value again, part by part, as a projection of a
// column does whose parts change. NULL stays NULL at every depth. Lambdas
// inside each other need names of their own: the caller gives them.
// Source: DuckDB 1.5 documentation, "Struct Functions", "Lambda Functions",
// "Map Functions".

#include <string>
#include <string_view>
#include <vector>

namespace base::duckdb {

/// A part of a struct: its name, and the SQL of its value.
struct StructPart {
  std::string name;
  std::string value;
};

/// The part `name` of the struct `value`.
[[nodiscard]] std::string struct_part(std::string_view value, std::string_view name);

/// A struct of `parts`, of which there is one at least; NULL where `value` is.
[[nodiscard]] std::string rebuilt_struct(std::string_view value,
                                         const std::vector<StructPart>& parts);

/// The list `value`, each element of it, called `element`, become `made`.
[[nodiscard]] std::string rebuilt_list(std::string_view value, std::string_view element,
                                       std::string_view made);

/// The keys and values of the map `value` in an entry that is called `entry`.
[[nodiscard]] std::string map_key(std::string_view entry);
[[nodiscard]] std::string map_value(std::string_view entry);

/// The map `value`, each entry of it, called `entry`, become `key` and `held`.
[[nodiscard]] std::string rebuilt_map(std::string_view value, std::string_view entry,
                                      std::string_view key, std::string_view held);

}  // namespace base::duckdb
