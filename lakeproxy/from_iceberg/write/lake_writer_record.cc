#include "lakeproxy/from_iceberg/write/lake_writer.h"

namespace lake::ducklake {

using base::pg::array_param;

base::Task<base::Result<void>> LakeWriter::record_nan_counts(base::RequestContext context,
                                                             std::vector<NanCount> counts) {
  std::vector<std::int64_t> files, columns;
  std::vector<std::optional<std::string>> values;
  for (const NanCount& count : counts) {
    files.push_back(count.file.value);
    columns.push_back(count.column);
    values.push_back(count.count ? std::optional(std::to_string(*count.count)) : std::nullopt);
  }
  CO_RETURN_IF_ERROR(co_await pool_->query(
      context, {sql_("INSERT INTO @lakeproxy_nan_count (data_file_id, column_id, nan_count) SELECT "
                     "f, c, n::bigint FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS "
                     "u(f, c, n) ON CONFLICT DO NOTHING"),
                {array_param(files), array_param(columns), array_param(values)}}));
  co_return base::Result<void>{};
}

}  // namespace lake::ducklake
