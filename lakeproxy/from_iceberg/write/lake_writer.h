#pragma once

// Changes to one lake. Each function is one PostgreSQL transaction: all of it
// happened or none, and DuckDB clients see it at their next statement.
// Source: DuckLake specification 1.0; Iceberg REST description.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/core/clock.h"
#include "base/json/json.h"
#include "lakeproxy/ducklake/commit/commit_step.h"
#include "lakeproxy/ducklake/commit/snapshot_commit.h"
#include "lakeproxy/ducklake/lake/open_lake.h"
#include "lakeproxy/ducklake/lake/reasons.h"
#include "lakeproxy/ducklake/read/lake_reader.h"
#include "lakeproxy/from_iceberg/rows/lake_files.h"
#include "lakeproxy/from_iceberg/rows/row_deletes.h"
#include "lakeproxy/from_iceberg/write/known_table.h"

namespace lake::ducklake {

class Committer;

/// One snapshot that an Iceberg client adds.
struct AddedSnapshot {
  model::SnapshotId client_snapshot_id;
  std::vector<AddedFile> files;
  std::string summary_json;  ///< The client's summary, kept with the lake's snapshot.
  /// Locations of the live data files that it takes away, one for each of them.
  std::vector<std::string> removed = {};
  /// Of files that stay, and of files that it or an earlier one of the commit adds.
  RowDeletes deletes = {};
};

/// What becomes of a table that has the name already.
enum class Existing { kRefused, kReplaced };

/// A table to be made, with ids already assigned.
struct NewTable {
  model::TableIdentifier identifier;
  model::TableMetadata metadata;  ///< No snapshots; schemas, specs and orders as shown.
  std::vector<AddedSnapshot> snapshots;
  Existing existing = Existing::kRefused;
};

/// A table that was dropped, to be shown again under a name.
struct RestoredTable {
  model::TableId table;
  model::TableIdentifier identifier;
  Existing existing = Existing::kRefused;
};

/// The table of this lake that a metadata file shows.
struct Origin {
  model::TableId table;
  bool newest = false;  ///< No later metadata file was written for it.
  bool live = false;    ///< The table is there.
  /// What the lake has of it has expired since it was unregistered: only its files are left.
  bool only_files = false;
  /// Where it was last; nothing: nobody knows any more.
  std::optional<model::Namespace> name_space = std::nullopt;
};

/// What of the base version, the table as it was read, must still hold when the change is written.
enum class BaseVersionCheck {
  kRows,        ///< All of it.
  kDefinition,  ///< Its rows may have changed: the change only appends to them.
};

/// What becomes of the rows that a table has, before snapshots add others.
enum class Content {
  kStays,
  kEnds,  ///< Without new snapshots the table has no current one then.
};

/// A checked change to an existing table. The table as `before` was read must
/// still be what the lake holds, or nothing is written.
struct TableChange {
  std::shared_ptr<const model::LakeTable> before;
  /// The definition after the change; snapshots and logs do not count.
  model::TableMetadata after;
  std::vector<AddedSnapshot> snapshots;
  BaseVersionCheck base_version_check = BaseVersionCheck::kRows;
  Content content = Content::kStays;
  /// The content becomes that of this snapshot again; there are no new ones.
  std::optional<model::SnapshotId> restores = std::nullopt;
  /// Of the files that this snapshot shows in part: see Restore.
  std::vector<FileDeletes> partly_shown = {};
  /// The version of the policies that allow the change; under another one it is stale.
  std::optional<std::int64_t> policies = std::nullopt;
};

/// What a commit of several tables asks of one of them.
using TableCommitPart = std::variant<TableChange, NewTable>;

/// What becomes of the files of a table that is dropped.
enum class Files {
  kStay,
  kGo,  ///< A purge begins (see LakeUpkeep), and the table cannot come back.
};

/// What was committed, and the table after it where only rows were added or properties set.
struct ChangedTable : Committed {
  std::optional<KnownTable> known;
};

/// What was committed, and the table that it made.
struct CreatedTable : Committed {
  model::TableId id;
};

struct PropertyChanges {
  std::vector<std::string> updated;
  std::vector<std::string> removed;
  std::vector<std::string> missing;
};
/// As the API describes the answer.
[[nodiscard]] base::json::Value to_json(const PropertyChanges& changes);

/// One event loop's writer. What it is given outlives it.
/// Errors everywhere: those of Committer::commit.
class LakeWriter {
 public:
  LakeWriter(base::pg::Pool& pool, LakeOptions options, const base::Clock& clock,
             base::Random& random, CommitWatch watch = {});

  /// The same writer for one change that the client named by a key: its idempotency record
  /// is written with the change. Errors besides: kConflict (kAlreadyDone).
  [[nodiscard]] LakeWriter keyed(std::optional<model::IdempotencyKey> key) const {
    LakeWriter writer = *this;
    writer.key_ = std::move(key);
    return writer;
  }

  /// Errors: kAlreadyExists; kNotFound (kNoSuchNamespace)  a parent is missing.
  [[nodiscard]] base::Task<base::Result<void>> create_namespace(
      base::RequestContext context, model::Namespace name,
      std::map<std::string, std::string> properties);
  /// Errors: kNotFound (kNoSuchNamespace); kConflict (kNamespaceNotEmpty).
  [[nodiscard]] base::Task<base::Result<void>> drop_namespace(base::RequestContext context,
                                                              model::Namespace name);
  /// Errors: kNotFound (kNoSuchNamespace).
  [[nodiscard]] base::Task<base::Result<PropertyChanges>> change_namespace(
      base::RequestContext context, model::Namespace name, std::vector<std::string> removals,
      std::map<std::string, std::string> updates);

  /// Errors: kAlreadyExists  a table or view has the name;
  ///         kNotFound (kNoSuchNamespace); kUnsupported  a type the lake cannot hold.
  [[nodiscard]] base::Task<base::Result<CreatedTable>> create_table(base::RequestContext context,
                                                                    NewTable table);
  /// Errors: kNotFound (kNoSuchTable).
  [[nodiscard]] base::Task<base::Result<void>> drop_table(base::RequestContext context,
                                                          model::TableIdentifier identifier,
                                                          Files files = Files::kStay);
  /// Drops a table as it was read, so that nothing is lost that was committed
  /// meanwhile. `answer` is kept by the idempotency record.
  /// Errors: kNotFound (kNoSuchTable); kConflict (kStale)  read it again.
  [[nodiscard]] base::Task<base::Result<void>> unregister_table(
      base::RequestContext context, model::TableIdentifier identifier,
      std::shared_ptr<const model::LakeTable> before, std::string answer);
  /// Nothing for a metadata file that this lake did not write.
  [[nodiscard]] base::Task<base::Result<std::optional<Origin>>> find_origin(
      base::RequestContext context, std::string metadata_location);
  /// Whether the folder of another table, one of that id apart, or of a view lies at
  /// `location`, in it or around it, or a namespace's lies in it, or the files there
  /// are being removed. A dropped table's folder is free as a whole.
  [[nodiscard]] base::Task<base::Result<bool>> is_location_taken(base::RequestContext context,
                                                                 std::string location,
                                                                 std::optional<model::TableId> but);
  /// Brings a dropped table back with its ids, rows and snapshots.
  /// Errors: kAlreadyExists  a table or view has the name, or the table is there;
  ///         kNotFound (kNoSuchNamespace, kNoSuchTable); kConflict  the lake has
  ///         expired what it showed before its drop, or its files are purged.
  [[nodiscard]] base::Task<base::Result<void>> restore_table(base::RequestContext context,
                                                             RestoredTable restored);
  /// Also into another namespace; the files stay where they are.
  /// Errors: kNotFound (kNoSuchTable, kNoSuchNamespace); kAlreadyExists.
  [[nodiscard]] base::Task<base::Result<void>> rename_table(base::RequestContext context,
                                                            model::TableIdentifier from,
                                                            model::TableIdentifier to);
  /// Errors: kConflict (kStale)  the table is not as `before` says, or the policies are
  ///         others; kConflict  a snapshot was added before, or takes away a file that is
  ///         not live; kUnsupported  a type the lake cannot hold, or rows of an older
  ///         snapshot that cannot be shown as they were.
  [[nodiscard]] base::Task<base::Result<ChangedTable>> change_table(base::RequestContext context,
                                                                    TableChange change);

  /// Several tables at once, all of them or none, each once; each change that
  /// concerns rows or a definition is a lake snapshot of its own.
  /// Errors: those of change_table and create_table.
  [[nodiscard]] base::Task<base::Result<Committed>> commit_parts(
      base::RequestContext context, std::vector<TableCommitPart> parts);

  /// Remembers NaN counts that were made by reading files. A column whose count stays
  /// absent is remembered as such. What somebody else has remembered first stays.
  struct NanCount {
    model::DataFileId file;
    model::FieldId column = 0;
    std::optional<std::int64_t> count;
  };
  [[nodiscard]] base::Task<base::Result<void>> record_nan_counts(base::RequestContext context,
                                                                 std::vector<NanCount> counts);

  /// Where a new table's files go: under the namespace, with a part of its own
  /// that no earlier table of that name had. No trailing '/'.
  [[nodiscard]] std::string new_table_location(const NamespaceInfo& name_space,
                                               std::string_view table,
                                               const base::Uuid& uuid) const;
  [[nodiscard]] const LakeOptions& lake() const { return options_; }

 private:
  base::pg::Pool* pool_;
  LakeOptions options_;
  SchemaSql sql_;
  const base::Clock* clock_;
  base::Random* random_;
  std::shared_ptr<Committer> committer_;
  std::optional<model::IdempotencyKey> key_;
};

}  // namespace lake::ducklake
