#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "lakeproxy/ducklake/lake/reasons.h"
#include "lakeproxy/ducklake/read/cells.h"
#include "lakeproxy/ducklake/read/change_rows.h"
#include "lakeproxy/ducklake/read/reader_impl.h"
#include "lakeproxy/ducklake/read/table_rows.h"
#include "lakeproxy/to_iceberg/definition/readable_copies.h"

namespace lake::ducklake {
namespace {

using base::RequestContext;
using base::Result;
using base::Task;
using base::pg::param;
using base::pg::Query;
using base::pg::RowsPtr;
using model::LakeChanges;
using model::LakeTable;
using model::SnapshotId;

// The statements of one reading, in the order of change_queries.
enum Read : std::size_t {
  kCommits,
  kDataFiles,
  kFileStats,
  kPartitionValues,
  kFileFacts,
  kDeleteFiles,
  kInlinedRows,
  kInlinedDeletes,
  kMaintained,
  kReadableCopies,
  kSchemaVersions,
  kColumns,
};

// In kDeleteFiles, behind the file's own columns.
constexpr std::size_t kFlushedAt = 10;

std::vector<Query> change_queries(const LakeSql& sql, std::int64_t table, std::int64_t after,
                                  std::int64_t up_to, bool anew) {
  std::vector<Query> queries{{sql.commits, {param(table), param(after), param(up_to)}}};
  for (const base::pg::Statement* statement :
       {&sql.data_files, &sql.file_stats, &sql.partition_values, &sql.file_facts, &sql.delete_files,
        &sql.inlined_rows, &sql.inlined_deletes, &sql.maintained, &sql.readable_copies}) {
    queries.push_back({*statement, {param(table), param(after), param(up_to), param(anew)}});
  }
  queries.push_back({sql.schema_versions, {param(table)}});
  queries.push_back({sql.all_columns, {param(table)}});
  return queries;
}

// How files that were added as they are find their columns: many share their names, and the
// schema that they were added under.
class AddedAs {
 public:
  explicit AddedAs(const LakeTable& table) : table_(&table) {}

  // Null for any other file, and for one whose names or schema the lake does not have.
  std::shared_ptr<const model::AddedColumns> of(const model::LakeDataFile& file) {
    if (!file.mapping_id) return nullptr;
    auto names = table_->name_maps.find(*file.mapping_id);
    auto then = table_->schema_at.upper_bound(file.begin);
    if (names == table_->name_maps.end() || then == table_->schema_at.begin()) return nullptr;
    const std::int32_t schema_id = std::prev(then)->second;
    auto& known = known_[{*file.mapping_id, schema_id}];
    const model::Schema* schema = table_->metadata.find_schema(schema_id);
    if (known == nullptr && schema != nullptr) {
      known = std::make_shared<model::AddedColumns>(schema->fields, names->second);
    }
    return known;
  }

 private:
  const LakeTable* table_;
  std::map<std::pair<std::int64_t, std::int32_t>, std::shared_ptr<const model::AddedColumns>>
      known_;
};

// Shows files as the copies that stand for them. Of a file that was added as it is a recorded copy
// says that its footer asked for one.
void set_copies(const base::pg::Rows& made, const CopyRules& rules, const LakeTable& table,
                SnapshotId newest, LakeChanges& changes) {
  const std::string& location = table.metadata.location;
  AddedAs added(table);
  for (auto& [id, file] : changes.data_files) {
    auto copy = rules.copy_of(file, added.of(file), location, newest);
    if (!copy) continue;
    if (copy->columns.empty()) {
      changes.copies_if_unlike.emplace(id, std::move(*copy));
    } else {
      show_as_copy(std::move(*copy), file);
    }
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    auto found = changes.data_files.find(model::DataFileId(made.int64(i, 0)));
    if (found == changes.data_files.end()) continue;
    if (auto unlike = changes.copies_if_unlike.extract(found->first)) {
      show_as_copy(std::move(unlike.mapped()), found->second);
    }
    model::LakeDataFile& file = found->second;
    if (!file.copy || file.copy->signature != made.text(i, 1)) continue;
    if (made.is_null(i, 2)) {
      file.copy->failure = made.opt_text(i, 3).value_or("");
      continue;
    }
    file.copy->is_made = true;
    file.file_size_bytes = made.int64(i, 2);
  }
}

Result<LakeChanges> changes_of(const std::vector<RowsPtr>& rows, const LakeTable& table,
                               SnapshotId newest, ReadableCopies copies) {
  const std::string folder = table.metadata.location + "/";
  LakeChanges changes{.commits = read_commits(*rows[kCommits])};
  ASSIGN_OR_RETURN(changes.data_files, read_data_files(*rows[kDataFiles], folder));
  read_file_stats(*rows[kFileStats], changes.data_files);
  read_partition_values(*rows[kPartitionValues], changes.data_files);
  RETURN_IF_ERROR(read_file_facts(*rows[kFileFacts], table, changes.data_files));
  ASSIGN_OR_RETURN(changes.delete_files, read_delete_files(*rows[kDeleteFiles], folder));
  for (std::size_t i = 0; i < changes.delete_files.size(); ++i) {
    changes.delete_files[i].flushed_at = opt_snapshot(*rows[kDeleteFiles], i, kFlushedAt);
  }
  const LakeColumns columns{.columns = read_lake_columns(*rows[kColumns]),
                            .format_version = table.metadata.format_version,
                            .copies = copies};
  const CopyRules rules(columns, geographies_of(table));
  set_copies(*rows[kReadableCopies], rules, table, newest, changes);
  ASSIGN_OR_RETURN(changes.inlined, read_inlined_rows(*rows[kInlinedRows], *rows[kSchemaVersions],
                                                      columns, rules, newest, table));
  changes.inlined_deletes = read_inlined_deletes(*rows[kInlinedDeletes]);
  const base::pg::Rows& maintained = *rows[kMaintained];
  if (!maintained.empty()) changes.first_row_change = opt_snapshot(maintained, 0, 1);
  return changes;
}

std::optional<SnapshotId> last_maintenance(const base::pg::Rows& maintained) {
  return maintained.empty() ? std::nullopt : opt_snapshot(maintained, 0, 0);
}

}  // namespace

Task<Result<LakeChanges>> LakeReader::read_changes(RequestContext context, const LakeTable* table,
                                                   std::optional<SnapshotId> after,
                                                   SnapshotId up_to) {
  const SnapshotId from = after.value_or(SnapshotId(-1));
  const bool anew = after && table->last_maintenance > after;
  CO_ASSIGN_OR_RETURN(
      auto rows, co_await impl_->read(context, change_queries(impl_->sql, table->table_id.value,
                                                              from.value, up_to.value, anew)));
  if (last_maintenance(*rows[kMaintained]) != table->last_maintenance) {
    co_return base::fail(base::ErrorKind::kConflict, "the table's files were replaced meanwhile")
        .with_reason(kStale);
  }
  CO_ASSIGN_OR_RETURN(LakeChanges changes, changes_of(rows, *table, up_to, impl_->copies()));
  (anew ? changes.published : changes.after) = after;
  changes.up_to = up_to;
  co_return changes;
}

}  // namespace lake::ducklake
