#include "lakeproxy/ducklake/read/table_row.h"

#include "base/core/text.h"
#include "base/json/fields.h"
#include "lakeproxy/ducklake/lake/lake_path.h"
#include "lakeproxy/ducklake/read/cells.h"
#include "lakeproxy/ducklake/read/reader_impl.h"
#include "lakeproxy/iceberg/metadata/snapshot_json.h"
#include "lakeproxy/iceberg/update/metadata_change.h"
#include "lakeproxy/mapping/comments.h"
#include "lakeproxy/mapping/shown_parts.h"

namespace lake::ducklake {
namespace {

using base::Result;
using base::json::Fields;
using base::pg::Rows;
using model::SnapshotId;

// The columns of LakeSql::table.
enum Column : std::size_t {
  kName,
  kUuid,
  kSchemaId,
  kPath,
  kPathIsRelative,
  kSchemaPath,
  kSchemaPathIsRelative,
  kDataPath,
  kCreated,
  kSidecarUuid,
  kFormatVersion,
  kProperties,
  kRefs,
  kDefaultSortOrder,
  kLastPartitionId,
  kUpdatedMs,
  kClearedAt,
  kLastMaintenance,
  kComment,
  kNextRowId,
  kLastChangeMs,
  kStatistics,
  kPartitionStatistics,
  kOutOfSight,
  kLastColumnId,
};

std::string location_of(const Rows& rows) {
  const std::string schema = resolve_path(
      rows.text(0, kDataPath),
      {rows.text(0, kSchemaPath), rows.opt_boolean(0, kSchemaPathIsRelative) != false});
  return without_trailing_slash(
      resolve_path(schema, {rows.text(0, kPath), rows.opt_boolean(0, kPathIsRelative) != false}));
}

Result<std::map<std::string, std::string>> read_properties(const Rows& rows) {
  std::map<std::string, std::string> properties;
  if (!rows.is_null(0, kProperties)) {
    base::json::Object wrapped;
    ASSIGN_OR_RETURN(wrapped["properties"], base::json::parse(rows.text(0, kProperties)));
    const base::json::Value value(std::move(wrapped));
    ASSIGN_OR_RETURN(auto fields, Fields::of(value, "lakeproxy_table"));
    ASSIGN_OR_RETURN(properties, fields.string_map("properties"));
  }
  if (auto comment = rows.opt_text(0, kComment)) {
    properties.insert_or_assign(std::string(kCommentProperty), std::move(*comment));
  }
  return properties;
}

Result<std::map<std::string, model::SnapshotRef>> read_refs(const Rows& rows) {
  std::map<std::string, model::SnapshotRef> refs;
  if (rows.is_null(0, kRefs)) return refs;
  ASSIGN_OR_RETURN(auto json, base::json::parse(rows.text(0, kRefs)));
  ASSIGN_OR_RETURN(auto all, Fields::of(json, "refs"));
  for (const auto& member : json.as_object()) {
    ASSIGN_OR_RETURN(auto fields, all.object(member.key()));
    ASSIGN_OR_RETURN(auto ref, model::snapshot_ref_from_json(fields));
    refs.emplace(member.key(), ref);
  }
  return refs;
}

base::Uuid read_uuid(const Rows& rows) {
  const std::size_t column = rows.is_null(0, kSidecarUuid) ? kUuid : kSidecarUuid;
  return base::parse_uuid(rows.text(0, column)).value_or(base::Uuid{});
}

}  // namespace

Result<TableRow> read_table(const Rows& rows) {
  TableRow table{.name = std::string(rows.text(0, kName)),
                 .uuid = read_uuid(rows),
                 .namespace_id = model::NamespaceId(rows.int64(0, kSchemaId)),
                 .location = location_of(rows),
                 .created = SnapshotId(rows.int64(0, kCreated)),
                 .cleared_at = opt_snapshot(rows, 0, kClearedAt),
                 .last_maintenance = opt_snapshot(rows, 0, kLastMaintenance),
                 .next_row_id = rows.opt_int64(0, kNextRowId).value_or(0)};
  ASSIGN_OR_RETURN(table.properties, read_properties(rows));
  ASSIGN_OR_RETURN(table.refs, read_refs(rows));
  if (!rows.is_null(0, kOutOfSight)) {
    ASSIGN_OR_RETURN(table.statistics, read_statistics(rows.text(0, kStatistics)));
    ASSIGN_OR_RETURN(table.partition_statistics,
                     read_statistics(rows.text(0, kPartitionStatistics)));
    ASSIGN_OR_RETURN(table.out_of_sight, read_out_of_sight(rows.text(0, kOutOfSight)));
  }
  table.format_version = int32(rows, 0, kFormatVersion);
  table.last_column_id = int32(rows, 0, kLastColumnId);
  if (!rows.is_null(0, kDefaultSortOrder)) {
    table.default_sort_order_id = int32(rows, 0, kDefaultSortOrder);
  }
  if (!rows.is_null(0, kLastPartitionId)) {
    table.last_partition_id = int32(rows, 0, kLastPartitionId);
  }
  const auto last_change = rows.opt_int64(0, kLastChangeMs);
  table.last_updated_ms = std::max(rows.opt_int64(0, kUpdatedMs).value_or(0),
                                   last_change ? *last_change - kShownEarlierMs : 0);
  return table;
}

}  // namespace lake::ducklake
