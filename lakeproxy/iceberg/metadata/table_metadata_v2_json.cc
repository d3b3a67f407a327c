#include "lakeproxy/iceberg/metadata/table_metadata_parts.h"

namespace lake::model {
namespace {

/// What version 2 has always said for "none"; its readers know it, some know
/// no null there.
constexpr std::int64_t kNoSnapshot = -1;

}  // namespace

void write_metadata_v2(std::string& out, const TableMetadata& table,
                       const MetadataFragments& fragments, SnapshotSelection selection) {
  MemberWriter json(out);
  write_head(json, table);
  json.number("current-snapshot-id",
              table.current_snapshot_id ? table.current_snapshot_id->value : kNoSnapshot);
  write_tail(json, table, fragments, selection);
  json.end();
}

}  // namespace lake::model
