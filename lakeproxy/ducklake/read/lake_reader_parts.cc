#include "lakeproxy/ducklake/read/change_rows.h"
#include "lakeproxy/ducklake/read/reader_impl.h"

namespace lake::ducklake {
namespace {

using base::RequestContext;
using base::Result;
using base::Task;
using base::pg::Query;
using model::DataFileId;
using model::LakeTable;
using model::SnapshotId;

constexpr auto kFiles = R"sql(
SELECT f.data_file_id, f.begin_snapshot, f.end_snapshot, f.path, f.path_is_relative,
       f.file_format, f.record_count, f.file_size_bytes, f.row_id_start, f.partition_id,
       f.mapping_id, f.partial_max
  FROM @lakeproxy_files_to_restore($1, $2) r
  JOIN @ducklake_data_file f ON f.data_file_id = r.data_file_id WHERE r.is_partial)sql";

constexpr auto kDeleteFiles = R"sql(
SELECT d.delete_file_id, d.data_file_id, d.begin_snapshot, d.end_snapshot, d.path,
       d.path_is_relative, d.format, d.delete_count, d.file_size_bytes, d.partial_max
  FROM @lakeproxy_files_to_restore($1, $2) r
  JOIN @ducklake_delete_file d ON d.delete_file_id = r.delete_file_id WHERE r.is_partial)sql";

constexpr auto kInlinedDeletes = R"sql(
SELECT d.file_id, d.row_id, d.begin_snapshot
  FROM @lakeproxy_files_to_restore($1, $2) r
  JOIN @lakeproxy_inlined_deletes($1, -1, $2) d ON d.file_id = r.data_file_id
 WHERE r.is_partial)sql";

}  // namespace

Task<Result<std::vector<PartlyShown>>> LakeReader::partly_shown(RequestContext context,
                                                                const LakeTable* table,
                                                                SnapshotId snapshot) {
  const std::string folder = table->metadata.location + "/";
  const SchemaSql sql(impl_->options.metadata_schema);
  std::vector<Query> queries;
  for (const char* statement : {kFiles, kDeleteFiles, kInlinedDeletes}) {
    queries.push_back({sql(statement),
                       {base::pg::param(table->table_id.value), base::pg::param(snapshot.value)}});
  }
  CO_ASSIGN_OR_RETURN(auto rows, co_await impl_->read(context, std::move(queries)));
  CO_ASSIGN_OR_RETURN(auto data_files, read_data_files(*rows[0], folder));
  CO_ASSIGN_OR_RETURN(auto delete_files, read_delete_files(*rows[1], folder));
  std::map<DataFileId, PartlyShown> files;
  for (auto& [id, file] : data_files) files[id].file = std::move(file);
  for (auto& file : delete_files) files.at(file.data_file_id).delete_file = std::move(file);
  for (const auto& row : read_inlined_deletes(*rows[2])) {
    files.at(row.data_file_id).inlined.push_back(row.row_id);
  }
  std::vector<PartlyShown> result;
  for (auto& [id, file] : files) result.push_back(std::move(file));
  co_return result;
}

}  // namespace lake::ducklake
