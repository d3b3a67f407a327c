#pragma once

// What was put into the object store for tables is remembered by rows. Losing such a row is
// harmless, since what it names can be made again under the same names; so many publications
// share a transaction, and none of them waits for the disk.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/postgres/session.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/iceberg/metadata/table_metadata.h"

namespace lake::ducklake {

/// What was put for one table: snapshots of its format version, and the metadata file that
/// shows them.
struct Published {
  std::string metadata_schema;  ///< The lake, by its PostgreSQL schema.
  model::TableId table;
  /// The state that it shows. What the lake's history no longer has is not recorded.
  std::optional<model::LakeVersion> read_at = std::nullopt;
  /// The newest snapshot that was published when these were made; nothing: none.
  std::optional<model::SnapshotId> built_on = std::nullopt;
  std::int32_t format_version = 2;
  std::vector<model::Snapshot> snapshots = {};
  std::set<std::int32_t> into_sight = {};  ///< Specs that their manifests need.
  std::int64_t metadata_sequence = 0;      ///< Position in the metadata log.
  std::optional<model::MetadataLogEntry> metadata_file = std::nullopt;
  /// The snapshots name other files than those before: kept ones may be let go of.
  bool replaces_files = false;
};

/// Remembers publications of any tables and lakes in one transaction. Of one table those that
/// were made first come first. What somebody else has remembered before stays, and no
/// snapshots come in beside newer ones that were made without them. Transactions that record
/// the same table wait for each other.
/// For each of them, whether all of it is remembered as given, and all before it of its
/// table: otherwise read the table again.
/// Errors: those of Pool::begin and Transaction::run_and_commit; whether anything is
///         remembered is then not known, and none of it need be.
[[nodiscard]] base::Task<base::Result<std::vector<bool>>> record_published(
    base::RequestContext context, base::pg::Pool* pool, std::vector<const Published*> published);

}  // namespace lake::ducklake
