#include "lakeproxy/to_iceberg/definition/default_properties.h"

#include <algorithm>

namespace lake::ducklake {
namespace {

bool is_read_row_by_row(const LakeColumn& column) { return column.type == "variant"; }

}  // namespace

std::map<std::string, std::string> default_properties(const LakeColumns& columns) {
  std::map<std::string, std::string> defaults{{"gc.enabled", "false"}};
  // Also one that is gone: older snapshots show its files.
  if (std::ranges::any_of(columns.columns, is_read_row_by_row)) {
    defaults.emplace("read.parquet.vectorization.enabled", "false");
  }
  return defaults;
}

}  // namespace lake::ducklake
