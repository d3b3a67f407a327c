#include "lakeproxy/iceberg/metadata/table_metadata_parts.h"

namespace lake::model {

void write_metadata_v3(std::string& out, const TableMetadata& table,
                       const MetadataFragments& fragments, SnapshotSelection selection) {
  MemberWriter json(out);
  write_head(json, table);
  if (table.current_snapshot_id) {
    json.number("current-snapshot-id", table.current_snapshot_id->value);
  } else {
    json.null("current-snapshot-id");
  }
  json.number("next-row-id", table.next_row_id);
  // As drafts of version 3 named it, for clients that were made for them.
  json.number("last-row-id", table.next_row_id);
  json.value("row-lineage", base::json::Value(true));
  write_tail(json, table, fragments, selection);
  json.end();
}

}  // namespace lake::model
