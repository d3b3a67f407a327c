#include "lakeproxy/ducklake/read/table_rows.h"

#include <algorithm>

#include "base/core/text.h"
#include "base/json/fields.h"
#include "lakeproxy/ducklake/read/cells.h"
#include "lakeproxy/ducklake/read/reader_impl.h"
#include "lakeproxy/iceberg/metadata/snapshot_json.h"
#include "lakeproxy/iceberg/schema/partition_json.h"
#include "lakeproxy/iceberg/schema/schema_json.h"

namespace lake::ducklake {
namespace {

using base::Result;
using base::json::Fields;
using base::pg::Rows;
using model::SnapshotId;

}  // namespace

std::vector<LakeColumn> read_lake_columns(const Rows& rows) {
  std::vector<LakeColumn> columns;
  columns.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    LakeColumn column{.id = int32(rows, i, 0),
                      .begin = SnapshotId(rows.int64(i, 1)),
                      .end = opt_snapshot(rows, i, 2),
                      .order = rows.opt_int64(i, 3).value_or(0),
                      .name = std::string(rows.text(i, 4)),
                      .type = std::string(rows.text(i, 5)),
                      .initial_default = rows.opt_text(i, 6),
                      .default_value = rows.opt_text(i, 7),
                      .nulls_allowed = rows.opt_boolean(i, 8).value_or(true)};
    if (!rows.is_null(i, 9)) column.parent = int32(rows, i, 9);
    columns.push_back(std::move(column));
  }
  return columns;
}

std::vector<LakeColumnDoc> read_column_docs(const Rows& rows) {
  std::vector<LakeColumnDoc> docs;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    docs.push_back({.column_id = int32(rows, i, 0),
                    .begin = SnapshotId(rows.int64(i, 1)),
                    .end = opt_snapshot(rows, i, 2),
                    .text = std::string(rows.text(i, 3))});
  }
  return docs;
}

std::vector<LakePartition> read_partitions(const Rows& rows) {
  std::vector<LakePartition> partitions;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t id = rows.int64(i, 0);
    if (partitions.empty() || partitions.back().partition_id != id) {
      partitions.push_back({.partition_id = id,
                            .begin = SnapshotId(rows.int64(i, 1)),
                            .end = opt_snapshot(rows, i, 2)});
    }
    if (rows.is_null(i, 3)) continue;
    partitions.back().keys.push_back({.index = rows.int64(i, 3),
                                      .column_id = int32(rows, i, 4),
                                      .transform = std::string(rows.text(i, 5))});
  }
  return partitions;
}

model::LakeSort read_sort(const Rows& rows) {
  model::LakeSort sort{.ever_set = !rows.empty()};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows.is_null(i, 0)) continue;
    sort.keys.push_back({.expression = std::string(rows.text(i, 0)),
                         .direction = rows.text(i, 1) == "DESC" ? model::SortDirection::kDescending
                                                                : model::SortDirection::kAscending,
                         .null_order = rows.text(i, 2) == "NULLS_LAST" ? model::NullOrder::kLast
                                                                       : model::NullOrder::kFirst});
  }
  return sort;
}

std::vector<PathColumns> read_path_columns(const Rows& rows) {
  std::vector<PathColumns> paths;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t id = rows.int64(i, 0);
    if (paths.empty() || paths.back().mapping_id != id) {
      paths.push_back({.mapping_id = id, .begin = SnapshotId(rows.int64(i, 1))});
    }
    paths.back().column_ids.push_back(int32(rows, i, 2));
  }
  return paths;
}

std::map<std::int64_t, model::LakeNameMap> read_name_maps(const Rows& rows) {
  std::map<std::int64_t, model::LakeNameMap> maps;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    maps[rows.int64(i, 0)].columns.insert_or_assign(
        int32(rows, i, 1), model::LakeNameMap::Column{std::string(rows.text(i, 2)),
                                                      rows.opt_boolean(i, 3).value_or(false)});
  }
  return maps;
}

Result<model::SnapshotList> read_materialized(const Rows& rows) {
  model::SnapshotList snapshots;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSIGN_OR_RETURN(auto json, base::json::parse(rows.text(i, 0)));
    ASSIGN_OR_RETURN(auto fields, Fields::of(json, "lakeproxy_snapshot"));
    ASSIGN_OR_RETURN(auto snapshot, model::snapshot_from_json(fields));
    snapshots.push_back(std::move(snapshot));
  }
  return snapshots;
}

std::map<std::int64_t, SnapshotId> read_aliases(const Rows& rows) {
  std::map<std::int64_t, SnapshotId> aliases;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    aliases.emplace(rows.int64(i, 0), SnapshotId(rows.int64(i, 1)));
  }
  return aliases;
}

std::vector<model::MetadataLogEntry> read_metadata_log(const Rows& rows) {
  std::vector<model::MetadataLogEntry> log;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    log.push_back(
        {.timestamp_ms = rows.int64(i, 0), .metadata_file = std::string(rows.text(i, 1))});
  }
  return log;
}

std::vector<SnapshotId> read_snapshot_ids(const Rows& rows) {
  std::vector<SnapshotId> ids;
  ids.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) ids.emplace_back(rows.int64(i, 0));
  return ids;
}

}  // namespace lake::ducklake
