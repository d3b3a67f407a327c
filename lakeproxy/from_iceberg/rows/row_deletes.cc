#include "lakeproxy/from_iceberg/rows/row_deletes.h"

namespace lake::ducklake {

using base::pg::array_param;
using base::pg::param;
using base::pg::Query;
using Numbers = std::vector<std::int64_t>;

Query end_delete_rows(const SchemaSql& sql, std::int64_t end, const Numbers& data_file_ids) {
  return {sql("UPDATE @ducklake_delete_file SET end_snapshot = $2 WHERE data_file_id = ANY "
              "($1::bigint[]) AND end_snapshot IS NULL"),
          {array_param(data_file_ids), param(end)}};
}

Query end_file_rows(const SchemaSql& sql, std::int64_t end, const Numbers& ids) {
  return {sql("UPDATE @ducklake_data_file SET end_snapshot = $2 WHERE data_file_id = ANY "
              "($1::bigint[])"),
          {array_param(ids), param(end)}};
}

Query copy_file_rows(const SchemaSql& sql, std::int64_t begin, const Numbers& from,
                     const Numbers& to) {
  return {sql("SELECT @lakeproxy_copy_files($1, $2, $3)"),
          {array_param(from), array_param(to), param(begin)}};
}

Query return_inlined_rows(const SchemaSql& sql, std::int64_t table_id, std::int64_t begin,
                          const InlinedDeletes& inlined) {
  return {sql("SELECT @lakeproxy_return_inlined_rows($1, $2, $3, $4, $5)"),
          {param(table_id), param(inlined.group.schema_version), param(inlined.group.begin.value),
           array_param(inlined.returned), param(begin)}};
}

Query insert_delete_rows(const SchemaSql& sql, const DeletePlace& place,
                         const std::vector<NewDeleteRow>& rows) {
  Numbers ids, files, relative, counts, sizes;
  std::vector<std::optional<std::string>> paths;
  for (const NewDeleteRow& row : rows) {
    const std::string& location = row.object.location;
    const bool inside = location.starts_with(place.folder);
    ids.push_back(row.id);
    files.push_back(row.data_file_id);
    relative.push_back(inside ? 1 : 0);
    paths.push_back(inside ? location.substr(place.folder.size()) : location);
    counts.push_back(row.object.delete_count);
    sizes.push_back(row.object.file_size_bytes);
  }
  return {sql("INSERT INTO @ducklake_delete_file (delete_file_id, table_id, begin_snapshot, "
              "end_snapshot, data_file_id, path, path_is_relative, format, delete_count, "
              "file_size_bytes, footer_size, encryption_key, partial_max) SELECT id, $1, $2, NULL, "
              "file, path, rel = 1, 'parquet', rows, size, NULL, NULL, NULL FROM "
              "unnest($3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[], "
              "$8::bigint[]) AS d(id, file, path, rel, rows, size)"),
          {param(place.table_id), param(place.begin), array_param(ids), array_param(files),
           array_param(paths), array_param(relative), array_param(counts), array_param(sizes)}};
}

}  // namespace lake::ducklake
