#include "lakeproxy/from_iceberg/rows/content_change.h"

#include <fmt/format.h>

#include <algorithm>

#include "lakeproxy/ducklake/lake/reasons.h"
#include "lakeproxy/from_iceberg/rows/table_stats.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::pg::array_param;
using base::pg::param;
using Numbers = std::vector<std::int64_t>;

constexpr std::string_view kRestoredKey = "lakeproxy-restored-snapshot-id";

// The rows of lakeproxy_files_to_restore, with ids for the new ones.
struct Plan {
  Numbers ended;
  Numbers originals, copies;                              ///< Data files.
  Numbers delete_originals, delete_copies, delete_files;  ///< Delete files, and what they are of.
  std::vector<NewDeleteRow> made;  ///< Delete files that were written for it.
};

const FileDeletes* find_file(const std::vector<FileDeletes>& files, std::int64_t id) {
  auto found = std::ranges::find_if(files, [&](const FileDeletes& file) {
    const auto* row = std::get_if<model::DataFileId>(&file.file);
    return row != nullptr && row->value == id;
  });
  return found == files.end() ? nullptr : &*found;
}

base::Result<Plan> plan_files(const Restore& restore, std::int64_t next_id) {
  const base::pg::Rows& rows = *restore.files;
  Plan plan;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t id = rows.int64(i, 0);
    if (rows.boolean(i, 1)) plan.ended.push_back(id);
    if (!rows.boolean(i, 2)) continue;
    plan.originals.push_back(id);
    plan.copies.push_back(next_id++);
    if (rows.boolean(i, 4)) {
      const FileDeletes* part = find_file(*restore.partly_shown, id);
      if (part == nullptr) {
        return base::fail(ErrorKind::kConflict, "The table was merged meanwhile.")
            .with_reason(kStale);
      }
      if (part->object) plan.made.push_back({next_id++, plan.copies.back(), *part->object});
      continue;
    }
    if (rows.is_null(i, 3)) continue;
    plan.delete_originals.push_back(rows.int64(i, 3));
    plan.delete_files.push_back(plan.copies.back());
    plan.delete_copies.push_back(next_id++);
  }
  return plan;
}

void note(std::string_view change, std::int64_t table, LakeDelta& delta) {
  delta.changes.push_back(fmt::format("{}:{}", change, table));
}

}  // namespace

void end_content(const SchemaSql& sql, const FilePlace& place, HasInlined inlined,
                 const model::Schema& schema, LakeDelta& delta) {
  delta.queries.push_back(
      {sql("SELECT @lakeproxy_end_content($1, $2)"), {param(place.table_id), param(place.begin)}});
  // Without a range DuckDB would take that of the next rows for that of all,
  // and pass over rows of older snapshots.
  for (auto& query : table_stats_queries(sql, place, schema, {})) {
    delta.queries.push_back(std::move(query));
  }
  note("deleted_from_table", place.table_id, delta);
  if (inlined == HasInlined::kYes) note("inlined_delete", place.table_id, delta);
}

std::vector<base::pg::Query> restore_preconditions(const SchemaSql& sql, model::TableId table,
                                                   model::SnapshotId back_to) {
  const std::vector<base::pg::Param> of{param(table.value), param(back_to.value)};
  return {{sql("SELECT data_file_id, ends, returns, delete_file_id, is_partial FROM "
               "@lakeproxy_files_to_restore($1, $2)"),
           of},
          {sql("SELECT * FROM @lakeproxy_columns_since($1, $2)"), of}};
}

base::Status restore_content(const SchemaSql& sql, const FilePlace& place, const Restore& restore,
                             LakeDelta& delta) {
  if (!restore.columns->empty()) {
    return base::fail(ErrorKind::kUnsupported,
                      fmt::format("set-snapshot-ref main: column '{}' was changed since snapshot "
                                  "{}, whose rows would read otherwise now",
                                  restore.columns->text(0, 0), restore.back_to.value));
  }
  ASSIGN_OR_RETURN(Plan plan, plan_files(restore, place.first_file_id));
  if (restore.files->empty() && restore.inlined == HasInlined::kNo) return {};
  delta.queries.push_back(end_file_rows(sql, place.begin, plan.ended));
  delta.queries.push_back(copy_file_rows(sql, place.begin, plan.originals, plan.copies));
  delta.queries.push_back({sql("SELECT @lakeproxy_copy_delete_files($1, $2, $3, $4)"),
                           {array_param(plan.delete_originals), array_param(plan.delete_copies),
                            array_param(plan.delete_files), param(place.begin)}});
  if (!plan.made.empty()) {
    delta.queries.push_back(
        insert_delete_rows(sql, {place.table_id, place.begin, restore.folder}, plan.made));
  }
  delta.queries.push_back(
      {sql("SELECT @lakeproxy_restore_inlined($1, $2, $3, $4, $5)"),
       {param(place.table_id), param(restore.back_to.value), array_param(plan.originals),
        array_param(plan.copies), param(place.begin)}});
  for (base::pg::Query& query : stats_of_returned(sql, place, *restore.schema)) {
    delta.queries.push_back(std::move(query));
  }
  delta.file_ids_used +=
      std::ssize(plan.copies) + std::ssize(plan.delete_copies) + std::ssize(plan.made);
  delta.extra_info = fmt::format(R"({{"{}":"{}"}})", kRestoredKey, restore.back_to.value);
  note("deleted_from_table", place.table_id, delta);
  note("inserted_into_table", place.table_id, delta);
  if (restore.inlined == HasInlined::kNo) return {};
  note("inlined_delete", place.table_id, delta);
  note("inlined_insert", place.table_id, delta);
  return {};
}

}  // namespace lake::ducklake
