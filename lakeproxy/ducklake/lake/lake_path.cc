#include "lakeproxy/ducklake/lake/lake_path.h"

namespace lake::ducklake {

std::string resolve_path(std::string_view folder, LakePath path) {
  std::string resolved(path.is_relative ? folder : std::string_view{});
  resolved += path.path;
  return resolved;
}

std::string without_trailing_slash(std::string location) {
  while (location.ends_with('/')) location.pop_back();
  return location;
}

}  // namespace lake::ducklake
