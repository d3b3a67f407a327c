#pragma once

// What must be asked of a lake before an object under its prefix is removed, by
// us or by a client with our signature: rows of files in any snapshot, records of metadata, other
// tables' folders. Objects are locations: "s3://bucket/key".

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "lakeproxy/ducklake/lake/open_lake.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/model/identifier.h"

namespace lake::ducklake {

/// A table that was dropped together with its files, which are not all gone.
struct Purge {
  model::TableId table;
  std::string folder;  ///< Location, ends in '/'.
  base::WallTime dropped_at;
};

/// What of a dropped table's folder must stay.
struct PurgeBounds {
  /// Another table or view stands in the folder itself or around it: nothing
  /// in it can be told to be this table's alone.
  bool shared = false;
  std::set<std::string> needed;  ///< Of the objects asked for.
};

/// What tells a lake's database from its copies.
struct LakeIdentity {
  std::string lake_id;            ///< Of the lake, made once; a copy has the same.
  std::string system_identifier;  ///< Of the PostgreSQL server's data folder.
  std::int64_t timeline = 0;      ///< Of the server's log.
  std::int64_t database_number = 0;
  std::string metadata_schema;
  bool owner_written = false;  ///< note_owner() was called, here or before the copy.
};

/// How a database became the owner of its prefix.
enum class Ownership { kFirst, kTakenOver };

/// A position in the records of manifest lists.
struct ListMark {
  std::int64_t table = -1;
  std::int64_t snapshot = -1;
};

/// One event loop's. `pool` outlives it.
/// Errors everywhere: kUnavailable, kTimeout (PostgreSQL).
class LakeUpkeep {
 public:
  LakeUpkeep(base::pg::Pool& pool, LakeOptions options);

  /// Whether the lake is one that this release opened, with this data path.
  /// Errors: kNotFound  it is not; kConflict  the path is another one.
  [[nodiscard]] base::Task<base::Status> check_opened(base::RequestContext context);

  /// Errors: kUnsupported  the role may not ask PostgreSQL for them, or the server
  ///         is a standby.
  [[nodiscard]] base::Task<base::Result<LakeIdentity>> identity(base::RequestContext context);
  /// The object that names the owner of the prefix is written.
  [[nodiscard]] base::Task<base::Status> note_owner(base::RequestContext context, Ownership how);
  /// When the lake changed last, as far as this database knows.
  [[nodiscard]] base::Task<base::Result<base::WallTime>> newest_change(
      base::RequestContext context);

  /// Purges that are not done: all, or those of tables that had this name.
  [[nodiscard]] base::Task<base::Result<std::vector<Purge>>> purges(
      base::RequestContext context, std::optional<model::TableIdentifier> of);
  /// Which of the objects in the folder others need.
  [[nodiscard]] base::Task<base::Result<PurgeBounds>> purge_bounds(
      base::RequestContext context, Purge purge, std::vector<std::string> objects);
  /// Folders of other tables and views in the table's folder, as locations that end in '/'; the
  /// folder itself, too, where another table has it. `table` is nothing for one that is staged.
  [[nodiscard]] base::Task<base::Result<std::vector<std::string>>> other_folders(
      base::RequestContext context, std::optional<model::TableId> table, std::string folder);
  /// Folders of the tables, but for `table` itself, of which a principal with these roles gets
  /// masked copies instead of files, dropped ones too. Each ends with '/'.
  [[nodiscard]] base::Task<base::Result<std::vector<std::string>>> masked_folders(
      base::RequestContext context, std::optional<model::TableId> table, std::string subject,
      std::vector<std::string> roles);
  /// Whether a principal with these roles gets masked copies of the table's files.
  [[nodiscard]] base::Task<base::Result<bool>> is_file_masked(base::RequestContext context,
                                                              model::TableId table,
                                                              std::string subject,
                                                              std::vector<std::string> roles);
  /// Those of the objects that no client may replace or remove: the lake, or a published snapshot,
  /// names them.
  [[nodiscard]] base::Task<base::Result<std::set<std::string>>> recorded(
      base::RequestContext context, std::vector<std::string> objects);
  /// The live table in whose folder the object lies, the innermost of several; nothing where it
  /// is in nobody's, or more than one has the folder.
  [[nodiscard]] base::Task<base::Result<std::optional<model::TableIdentifier>>> table_of(
      base::RequestContext context, std::string object);
  /// Nothing of the purge is left to do: the table cannot come back.
  [[nodiscard]] base::Task<base::Status> end_purge(base::RequestContext context,
                                                   model::TableId table);

  /// Those of the objects that a row of a file, a record of metadata or a
  /// scheduled deletion names. Manifest lists and what they name are not asked.
  [[nodiscard]] base::Task<base::Result<std::set<std::string>>> named(
      base::RequestContext context, std::vector<std::string> objects);
  /// Manifest lists of published snapshots, a thousand at a time; `after` moves
  /// on. None after the last.
  [[nodiscard]] base::Task<base::Result<std::vector<std::string>>> manifest_lists(
      base::RequestContext context, ListMark* after);
  /// Manifest lists that were in use after `since`, and are not any more.
  [[nodiscard]] base::Task<base::Result<std::vector<std::string>>> lists_superseded(
      base::RequestContext context, base::WallTime since);
  /// Manifest lists that were recorded after `since`.
  [[nodiscard]] base::Task<base::Result<std::vector<std::string>>> lists_recorded(
      base::RequestContext context, base::WallTime since);
  /// Forgets the records of snapshots and tables that the lake has expired;
  /// their manifest lists count as superseded from now on. Forgets superseded
  /// lists from before `before`.
  [[nodiscard]] base::Task<base::Status> forget_expired(base::RequestContext context,
                                                        base::WallTime before);
  /// Forgets the states and masked copies of signatures that nobody has used for `idle`, of all
  /// tables: after a policy was detached no newer state of its table comes that would do it.
  [[nodiscard]] base::Task<base::Status> forget_unused_masks(base::RequestContext context,
                                                             std::chrono::seconds idle);

 private:
  base::Task<base::Result<std::vector<std::string>>> texts(base::RequestContext context,
                                                           base::pg::Query query);

  base::pg::Pool* pool_;
  LakeOptions options_;
  SchemaSql sql_;
};

/// The row of a purge that begins with the drop of `table`.
[[nodiscard]] base::pg::Query insert_purge(const SchemaSql& sql, std::int64_t table,
                                           const model::TableIdentifier& identifier,
                                           const std::string& folder);

}  // namespace lake::ducklake
