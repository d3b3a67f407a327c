#pragma once

// Which snapshots a table's own properties let go: history.expire.max-snapshot-age-ms and
// history.expire.min-snapshots-to-keep, or what a branch says instead of them.
// Source: Iceberg table specification, "Snapshot Retention Policy".

#include <vector>

#include "lakeproxy/iceberg/metadata/table_metadata.h"

namespace lake::model {

/// Oldest first. None where no age is set: a table keeps its history unless somebody
/// says otherwise. A tag keeps its snapshot. Of a branch, whose history is that of main,
/// the newest ones are kept, as many as are asked for, and all that are young enough.
[[nodiscard]] std::vector<SnapshotId> expired_snapshots(const TableMetadata& metadata,
                                                        TimestampMs now);

}  // namespace lake::model
