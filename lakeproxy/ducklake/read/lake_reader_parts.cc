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

// One statement, since the function looks at every file of the table: a row for
// each position that PostgreSQL holds of a file, at least one for each file.
constexpr auto kParts = R"sql(
SELECT f.data_file_id, f.begin_snapshot, f.end_snapshot, f.path, f.path_is_relative,
       f.file_format, f.record_count, f.file_size_bytes, f.row_id_start, f.partition_id,
       f.mapping_id, f.partial_max,
       d.delete_file_id, d.data_file_id, d.begin_snapshot, d.end_snapshot, d.path,
       d.path_is_relative, d.format, d.delete_count, d.file_size_bytes, d.partial_max,
       i.row_id
  FROM @lakeproxy_files_to_restore($1, $2) r
  JOIN @ducklake_data_file f ON f.data_file_id = r.data_file_id
  LEFT JOIN @ducklake_delete_file d ON d.delete_file_id = r.delete_file_id
  LEFT JOIN @lakeproxy_inlined_deletes($1, -1, $2) i ON i.file_id = r.data_file_id
 WHERE r.is_partial)sql";
constexpr std::size_t kDeleteFile = 12;
constexpr std::size_t kPosition = 22;

}  // namespace

Task<Result<std::vector<PartlyShown>>> LakeReader::partly_shown(RequestContext context,
                                                                const LakeTable* table,
                                                                SnapshotId snapshot) {
  const std::string folder = table->metadata.location + "/";
  const SchemaSql sql(impl_->options.metadata_schema);
  std::vector<Query> query{
      {sql(kParts), {base::pg::param(table->table_id.value), base::pg::param(snapshot.value)}}};
  CO_ASSIGN_OR_RETURN(auto answers, co_await impl_->read(context, std::move(query)));
  const base::pg::Rows& rows = *answers[0];
  CO_ASSIGN_OR_RETURN(auto data_files, read_data_files(rows, folder));
  std::map<DataFileId, PartlyShown> files;
  for (auto& [id, file] : data_files) files[id].file = std::move(file);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    PartlyShown& part = files.at(DataFileId(rows.int64(i, 0)));
    if (!part.delete_file && !rows.is_null(i, kDeleteFile)) {
      CO_ASSIGN_OR_RETURN(part.delete_file, read_delete_file(rows, i, kDeleteFile, folder));
    }
    if (!rows.is_null(i, kPosition)) part.inlined.push_back(rows.int64(i, kPosition));
  }
  std::vector<PartlyShown> result;
  for (auto& [id, file] : files) result.push_back(std::move(file));
  co_return result;
}

}  // namespace lake::ducklake
