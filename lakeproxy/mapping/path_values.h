#pragma once

// What the folders of a file's path say of its columns: ".../day=2026-11-28/part.parquet".
// Source: DuckDB, "Hive Partitioning"; so read by DuckDB 1.5.5.

#include <string>
#include <string_view>
#include <vector>

namespace lake::model {

/// Stands for NULL where a path says a value.
inline constexpr std::string_view kNullInPath = "__HIVE_DEFAULT_PARTITION__";

struct PathValue {
  std::string name;
  std::string text;  ///< Without escapes.

  friend bool operator==(const PathValue&, const PathValue&) = default;
};

/// The values that the folders of `path` say, from the first to the last. Of a name that stands
/// there twice DuckDB takes the first. The file's own name says none, nor does a folder with
/// two "=", a '?' or a line end.
[[nodiscard]] std::vector<PathValue> values_in_path(std::string_view path);

}  // namespace lake::model
