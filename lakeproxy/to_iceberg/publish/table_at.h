#pragma once

// A table as it was at one of its snapshots: what a reader needs who travels in
// time and does not know how to choose a snapshot by itself.
// Source: specification, section 4, LoadTable with snapshot-id.

#include <optional>
#include <string>

#include "lakeproxy/to_iceberg/publish/loaded_table.h"

namespace lake::publish {

/// The lake's snapshot that `id` names: its own id, or one a client chose.
/// Nothing when the table has none of that id.
[[nodiscard]] std::optional<model::SnapshotId> find_snapshot(const LoadedTable& loaded,
                                                             model::SnapshotId id);

/// Gives `metadata` defaults that fit its current schema: one that sorts or parts by a column
/// of a later schema fits none of the readers.
void fit_defaults(const model::LakeTable& table, model::TableMetadata& metadata);

/// The metadata with `snapshot`, one of the table's, as the newest: "main", the
/// schema and the logs are those of that time, and later snapshots are not there.
[[nodiscard]] model::TableMetadata metadata_at(const LoadedTable& loaded,
                                               model::SnapshotId snapshot);

/// LoadTableResult of metadata_at(), without its end.
[[nodiscard]] std::string body_at(const LoadedTable& loaded, model::SnapshotId snapshot,
                                  model::SnapshotSelection selection);

}  // namespace lake::publish
