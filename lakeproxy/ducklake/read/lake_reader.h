#pragma once

// What one lake holds: names, definitions, snapshots and files, as they are now
// and as they were.
// Source: DuckLake specification 1.0.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/postgres/session.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/ducklake/lake/name_page.h"
#include "lakeproxy/ducklake/lake/open_lake.h"
#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/iceberg/update/table_update.h"
#include "lakeproxy/model/identifier.h"
#include "lakeproxy/to_iceberg/definition/schema_ids.h"

namespace lake::ducklake {

/// A live data file and what of it is deleted.
struct LiveFile {
  std::string location;
  model::DataFileId id;
  std::int64_t record_count = 0;
  std::optional<model::LakeDeleteFile> delete_file;
  std::vector<std::int64_t> inlined;  ///< Positions that PostgreSQL holds.
};

/// A data file of an older snapshot, and what of it was deleted then.
struct PartlyShown {
  model::LakeDataFile file;
  std::optional<model::LakeDeleteFile> delete_file;
  std::vector<std::int64_t> inlined;  ///< Positions that PostgreSQL holds.
};

struct NamespaceInfo {
  model::NamespaceId id;
  model::Namespace name;
  std::map<std::string, std::string> properties;
  std::string location;  ///< Resolved path, without trailing '/'.
};

/// Reads of one lake over one event loop's pool. All reads of one call see one
/// state. Errors everywhere: kUnavailable, kTimeout (PostgreSQL), and
///         kNotFound with reason kNoSuchNamespace, kNoSuchTable.
class LakeReader {
 public:
  /// `pool` outlives the reader.
  LakeReader(base::pg::Pool& pool, LakeOptions options);
  ~LakeReader();

  /// One round trip, a few rows: cheap enough for every request.
  [[nodiscard]] base::Task<base::Result<model::LakeVersion>> version(base::RequestContext context);
  /// The same, with the version of the lake's governance in the same moment.
  struct Versions {
    model::LakeVersion lake;
    std::int64_t policies = 0;
  };
  [[nodiscard]] base::Task<base::Result<Versions>> versions(base::RequestContext context);
  /// Tables whose definition, rows or sidecars changed after `since`, each with
  /// its newest snapshot and revision that did (0 where none did); nothing when
  /// the history is no longer complete and all must count as changed.
  struct ChangedTables {
    model::LakeVersion version;
    std::optional<std::map<model::TableId, model::LakeVersion>> tables;
    /// `since` is part of the history of `version`: no commit that it knew was
    /// lost. False also when its snapshot was removed since.
    bool goes_on = true;
  };
  [[nodiscard]] base::Task<base::Result<ChangedTables>> changed_since(base::RequestContext context,
                                                                      model::LakeVersion since);

  /// Children of `parent` (top-level ones when nothing).
  [[nodiscard]] base::Task<base::Result<Page<model::Namespace>>> list_namespaces(
      base::RequestContext context, std::optional<model::Namespace> parent, PageRequest page);
  [[nodiscard]] base::Task<base::Result<NamespaceInfo>> load_namespace(base::RequestContext context,
                                                                       model::Namespace name);
  [[nodiscard]] base::Task<base::Result<Page<std::string>>> list_tables(
      base::RequestContext context, model::Namespace name_space, PageRequest page);
  [[nodiscard]] base::Task<base::Result<model::TableId>> find_table(
      base::RequestContext context, model::TableIdentifier identifier);
  /// The names of those tables that exist now, in any order.
  [[nodiscard]] base::Task<base::Result<std::vector<model::TableIdentifier>>> identify(
      base::RequestContext context, std::vector<model::TableId> tables);
  /// Definition and history; see model::LakeTable.
  /// Errors: kUnsupported  a column's type or default cannot be shown (names it).
  /// `known` is the same table as it was read before, or null: the snapshots
  /// that it holds are taken from there.
  [[nodiscard]] base::Task<base::Result<model::LakeTable>> load_table(
      base::RequestContext context, model::TableId table,
      std::shared_ptr<const model::LakeTable> known = nullptr);
  /// The id of the table's spec without fields, which it gets here if it has none. `version` is
  /// that of the table as it was loaded.
  /// Errors: kConflict (kStale)  the history at `version` is not the lake's any more.
  [[nodiscard]] base::Task<base::Result<std::int32_t>> assign_unpartitioned_spec(
      base::RequestContext context, model::TableId table, model::LakeVersion version);
  /// Stores that these columns are optional from their snapshots on, as allow_nulls() has it: the
  /// table is then another than it was when it was loaded at `version`.
  /// Errors: always, kConflict (kStale)  read it again; kUnavailable, kTimeout.
  [[nodiscard]] base::Task<base::Error> store_nulls(base::RequestContext context,
                                                    model::TableId table,
                                                    model::LakeVersion version,
                                                    ColumnsWithNull found);
  /// Row-level changes in (after, up_to]; from the beginning when `after` is nothing. Where
  /// files were replaced after `after`, all that is shown from there on, with `published`.
  /// `table` outlives the task.
  /// Errors: kUnsupported  a file of another format than Parquet; kConflict (kStale)  files
  ///         were replaced since `table` was read.
  [[nodiscard]] base::Task<base::Result<model::LakeChanges>> read_changes(
      base::RequestContext context, const model::LakeTable* table,
      std::optional<model::SnapshotId> after, model::SnapshotId up_to);
  /// The rows of `table`'s live files at `locations`, by rising ids, each with
  /// what of it is deleted. A location may have several, or none. `table`
  /// outlives the task.
  /// Errors: kUnsupported  a delete file of an unknown format.
  [[nodiscard]] base::Task<base::Result<std::vector<LiveFile>>> live_files(
      base::RequestContext context, const model::LakeTable* table,
      std::vector<std::string> locations);
  /// Those of `locations` whose live rows Iceberg clients have added, in their order.
  /// `table` outlives the task.
  [[nodiscard]] base::Task<base::Result<std::vector<std::string>>> files_of_clients(
      base::RequestContext context, const model::LakeTable* table,
      std::vector<std::string> locations);
  /// Data files that `snapshot` may show in part, by rising ids: merging,
  /// flushing or writing deletes again put rows or deletes of later snapshots
  /// into them.
  /// `table` outlives the task.
  /// Errors: kUnsupported  a file of an unknown format.
  [[nodiscard]] base::Task<base::Result<std::vector<PartlyShown>>> partly_shown(
      base::RequestContext context, const model::LakeTable* table, model::SnapshotId snapshot);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lake::ducklake
