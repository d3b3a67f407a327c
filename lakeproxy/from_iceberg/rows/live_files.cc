#include "lakeproxy/from_iceberg/rows/live_files.h"

#include <utility>

namespace lake::ducklake {

LiveFiles::LiveFiles(const base::pg::Rows& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ids_.emplace(std::string(rows.text(i, 0)), rows.int64(i, 1));
  }
}

base::pg::Query LiveFiles::query(const SchemaSql& sql, const model::LakeTable& table,
                                 std::vector<std::optional<std::string>> locations) {
  return {sql("SELECT location, data_file_id FROM @lakeproxy_live_files($1, $2, $3) ORDER BY "
              "data_file_id"),
          {base::pg::param(table.table_id.value), base::pg::param(table.metadata.location + "/"),
           base::pg::array_param(locations)}};
}

void LiveFiles::add(const std::string& location, std::int64_t data_file_id) {
  ids_.emplace(location, data_file_id);
}

std::optional<std::int64_t> LiveFiles::take(const std::string& location) {
  auto found = ids_.lower_bound(location);
  if (found == ids_.end() || found->first != location) return std::nullopt;
  const std::int64_t id = found->second;
  ids_.erase(found);
  return id;
}

}  // namespace lake::ducklake
