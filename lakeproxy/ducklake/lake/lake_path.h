#pragma once

// Where an object of the lake stands: each path is absolute or continues the
// one above it (lake, schema, table, file).
// Source: DuckLake specification 1.0, "Paths".

#include <string>
#include <string_view>

namespace lake::ducklake {

/// A path as the lake keeps it.
struct LakePath {
  std::string_view path;
  bool is_relative = true;
};

/// `path`, behind `folder` when it is relative. `folder` ends in '/'.
[[nodiscard]] std::string resolve_path(std::string_view folder, LakePath path);

/// Iceberg's locations have no '/' at the end.
[[nodiscard]] std::string without_trailing_slash(std::string location);

}  // namespace lake::ducklake
