#pragma once

// Iceberg names a file by its location, the lake by a number, and one location
// may have several rows: a file that was appended twice, or that came back.
// This finds the rows that stand for a table's live files, one for one.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/postgres/session.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/ducklake/table/lake_table.h"

namespace lake::ducklake {

class LiveFiles {
 public:
  LiveFiles() = default;
  /// `rows` are the answer to query().
  explicit LiveFiles(const base::pg::Rows& rows);

  /// The live rows of `table` at `locations`; each of these once.
  [[nodiscard]] static base::pg::Query query(const SchemaSql& sql, const model::LakeTable& table,
                                             std::vector<std::optional<std::string>> locations);

  /// A file that an earlier snapshot of the same commit adds.
  void add(const std::string& location, std::int64_t data_file_id);
  /// Takes the oldest row of `location` that is left, or nothing.
  [[nodiscard]] std::optional<std::int64_t> take(const std::string& location);

 private:
  std::multimap<std::string, std::int64_t> ids_;  ///< Equal keys in order of their ids.
};

}  // namespace lake::ducklake
