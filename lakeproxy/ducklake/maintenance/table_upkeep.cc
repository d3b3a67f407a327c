#include "lakeproxy/ducklake/maintenance/table_upkeep.h"

#include <fmt/format.h>

namespace lake::ducklake {

using base::ErrorKind;
using base::pg::param;
using base::pg::Query;

TableUpkeep::TableUpkeep(base::pg::Pool& pool, LakeOptions options)
    : pool_(&pool), options_(std::move(options)), sql_(options_.metadata_schema) {}

base::Task<base::Result<CompactionLock>> TableUpkeep::lock(base::RequestContext context,
                                                           model::TableId table) {
  // The compaction works elsewhere meanwhile: this transaction says nothing for long,
  // and what it locks holds up no commit.
  Query patient{{"SET LOCAL idle_in_transaction_session_timeout = 0"}, {}};
  Query query{
      {"SELECT pg_try_advisory_xact_lock(hashtextextended('lakeproxy.compact.' || $1::text, $2))"},
      {param(options_.metadata_schema), param(table.value)}};
  CO_ASSIGN_OR_RETURN(auto begun,
                      co_await pool_->begin(context, {std::move(patient), std::move(query)}));
  if (!begun.rows[1]->boolean(0, 0)) {
    co_await begun.transaction->rollback();
    co_return base::fail(ErrorKind::kUnavailable, "The table is being compacted already.");
  }
  co_return std::move(begun.transaction);
}

base::Task<base::Result<TableTotals>> TableUpkeep::totals(base::RequestContext context,
                                                          model::TableId table) {
  CO_ASSIGN_OR_RETURN(auto rows, co_await pool_->query(
                                     context, {sql_("SELECT files, bytes, delete_files, row_count, "
                                                    "inlined FROM @lakeproxy_table_totals($1)"),
                                               {param(table.value)}}));
  co_return TableTotals{.files = rows->int64(0, 0),
                        .bytes = rows->int64(0, 1),
                        .delete_files = rows->int64(0, 2),
                        .rows = rows->int64(0, 3),
                        .inlined = rows->int64(0, 4)};
}

base::Task<base::Result<std::vector<std::int64_t>>> TableUpkeep::expirable(
    base::RequestContext context, std::int64_t most) {
  CO_ASSIGN_OR_RETURN(
      auto rows, co_await pool_->query(
                     context, {sql_("SELECT * FROM @lakeproxy_expirable($1)"), {param(most)}}));
  std::vector<std::int64_t> snapshots;
  for (std::size_t i = 0; i < rows->size(); ++i) snapshots.push_back(rows->int64(i, 0));
  co_return snapshots;
}

base::Task<base::Result<std::vector<RemovableFile>>> TableUpkeep::removable(
    base::RequestContext context, model::TableId table, std::chrono::microseconds grace,
    std::int64_t most) {
  Query query{
      sql_("SELECT object, path, data_file_id FROM @lakeproxy_removable($1, $2::float8, "
           "$3)"),
      {param(table.value), param(fmt::format("{}", std::chrono::duration<double>(grace).count())),
       param(most)}};
  CO_ASSIGN_OR_RETURN(auto rows, co_await pool_->query(context, std::move(query)));
  std::vector<RemovableFile> files;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    files.push_back(
        {std::string(rows->text(i, 0)), std::string(rows->text(i, 1)), rows->int64(i, 2)});
  }
  co_return files;
}

base::Task<base::Status> TableUpkeep::forget(base::RequestContext context,
                                             std::vector<RemovableFile> files) {
  std::vector<std::optional<std::string>> paths;
  std::vector<std::int64_t> ids;
  for (auto& file : files) {
    paths.emplace_back(std::move(file.path));
    ids.push_back(file.data_file_id);
  }
  CO_RETURN_IF_ERROR(co_await pool_->query(
      context, {sql_("DELETE FROM @ducklake_files_scheduled_for_deletion s USING "
                     "unnest($1::text[], $2::bigint[]) AS gone(path, id) WHERE s.path = gone.path "
                     "AND s.data_file_id = gone.id"),
                {base::pg::array_param(paths), base::pg::array_param(ids)}}));
  co_return base::Status{};
}

}  // namespace lake::ducklake
