#pragma once

// A lake's table as the tests here need it: one column `v`, an unpartitioned
// spec 0, and spec 1 for the files of lake partition 7. For tests only.

#include <string>
#include <utility>

#include "lakeproxy/ducklake/table/lake_table.h"

namespace lake::materialize {

inline constexpr std::int64_t kPartition = 7;

inline model::LakeTable sample_lake(model::Type type = model::Type(model::TypeKind::kLong),
                                    model::Transform transform = {}) {
  model::LakeTable table;
  table.table_id = model::TableId(3);
  table.name = "t";
  table.metadata.location = "s3://lake/t";
  table.metadata.schemas = {{.fields = {{.id = 1, .name = "v", .type = std::move(type)}}}};
  table.metadata.partition_specs = {
      {}, {.spec_id = 1, .fields = {{1, 1000, "p", std::move(transform)}}}};
  table.schema_at = {{model::SnapshotId(1), 0}};
  table.spec_of_partition = {{kPartition, 1}};
  table.keys_of_partition = {{kPartition, {.count = 1, .of_field = {0}}}};
  return table;
}

/// Ten rows from snapshot `begin` on, without statistics.
inline model::LakeDataFile lake_file(std::int64_t id, std::int64_t begin,
                                     std::optional<model::SnapshotId> end = std::nullopt) {
  model::LakeDataFile file;
  file.id = model::DataFileId(id);
  file.begin = model::SnapshotId(begin);
  file.end = end;
  file.path = "s3://lake/t/f" + std::to_string(id);
  file.record_count = 10;
  file.file_size_bytes = 1000;
  return file;
}

inline model::LakeCommit lake_commit(std::int64_t snapshot, std::string changes = {}) {
  return {.snapshot = model::SnapshotId(snapshot),
          .committed_ms = snapshot * 1000,
          .changes_made = std::move(changes)};
}

}  // namespace lake::materialize
