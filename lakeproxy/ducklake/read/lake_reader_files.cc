#include <algorithm>

#include "lakeproxy/ducklake/read/change_rows.h"
#include "lakeproxy/ducklake/read/reader_impl.h"

namespace lake::ducklake {
namespace {

using base::RequestContext;
using base::Result;
using base::Task;
using base::pg::Query;
using model::LakeTable;

constexpr const char* kLiveFiles[] = {
    "SELECT l.location, f.data_file_id, f.record_count FROM @lakeproxy_live_files($1, $2, $3) l "
    "JOIN @ducklake_data_file f ON f.data_file_id = l.data_file_id ORDER BY f.data_file_id",
    "SELECT d.delete_file_id, d.data_file_id, d.begin_snapshot, d.end_snapshot, d.path, "
    "d.path_is_relative, d.format, d.delete_count, d.file_size_bytes, d.partial_max FROM "
    "@lakeproxy_live_files($1, $2, $3) l JOIN @ducklake_delete_file d ON d.data_file_id = "
    "l.data_file_id WHERE d.end_snapshot IS NULL",
    "SELECT file_id, row_id, begin_snapshot FROM @lakeproxy_inlined_deletes($1, -1, "
    "9223372036854775807) WHERE file_id IN (SELECT data_file_id FROM @lakeproxy_live_files($1, $2, "
    "$3))",
};

LiveFile* find(std::vector<LiveFile>& files, model::DataFileId id) {
  auto found = std::ranges::lower_bound(files, id, {}, &LiveFile::id);
  return found != files.end() && found->id == id ? &*found : nullptr;
}

}  // namespace

Task<Result<std::vector<LiveFile>>> LakeReader::live_files(RequestContext context,
                                                           const LakeTable* table,
                                                           std::vector<std::string> locations) {
  std::vector<LiveFile> files;
  if (locations.empty()) co_return files;
  const std::string folder = table->metadata.location + "/";
  const SchemaSql sql(impl_->options.metadata_schema);
  const std::vector<std::optional<std::string>> texts(locations.begin(), locations.end());
  std::vector<Query> queries;
  for (const char* statement : kLiveFiles) {
    queries.push_back({sql(statement),
                       {base::pg::param(table->table_id.value), base::pg::param(folder),
                        base::pg::array_param(texts)}});
  }
  CO_ASSIGN_OR_RETURN(auto rows, co_await impl_->read(context, std::move(queries)));
  for (std::size_t i = 0; i < rows[0]->size(); ++i) {
    files.push_back({.location = std::string(rows[0]->text(i, 0)),
                     .id = model::DataFileId(rows[0]->int64(i, 1)),
                     .record_count = rows[0]->int64(i, 2)});
  }
  CO_ASSIGN_OR_RETURN(auto delete_files, read_delete_files(*rows[1], folder));
  for (auto& file : delete_files) {
    if (LiveFile* live = find(files, file.data_file_id)) live->delete_file = std::move(file);
  }
  for (const auto& row : read_inlined_deletes(*rows[2])) {
    if (LiveFile* live = find(files, row.data_file_id)) live->inlined.push_back(row.row_id);
  }
  co_return files;
}

Task<Result<std::vector<std::string>>> LakeReader::files_of_clients(
    RequestContext context, const LakeTable* table, std::vector<std::string> locations) {
  const SchemaSql sql(impl_->options.metadata_schema);
  const std::vector<std::optional<std::string>> texts(locations.begin(), locations.end());
  Query query{sql("SELECT DISTINCT l.location FROM @lakeproxy_live_files($1, $2, $3) l JOIN "
                  "@lakeproxy_file f ON f.data_file_id = l.data_file_id ORDER BY 1"),
              {base::pg::param(table->table_id.value),
               base::pg::param(table->metadata.location + "/"), base::pg::array_param(texts)}};
  CO_ASSIGN_OR_RETURN(auto rows, co_await impl_->pool->query(context, std::move(query)));
  std::vector<std::string> files;
  for (std::size_t i = 0; i < rows->size(); ++i) files.emplace_back(rows->text(i, 0));
  co_return files;
}

}  // namespace lake::ducklake
