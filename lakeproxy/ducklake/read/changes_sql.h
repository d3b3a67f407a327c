#pragma once

// What LakeSql asks of the rows of a table that changed in ($2, $3]. $1 is the table. With $4 it
// is all that a snapshot from $2 on shows: the files were replaced since.

namespace lake::ducklake {

// Maintenance keeps the rows of the commit before, unless one between them was removed.
inline constexpr auto kCommits = R"sql(
SELECT s.snapshot_id, floor(extract(epoch FROM s.snapshot_time) * 1000)::bigint,
       c.changes_made, c.author, c.commit_message, c.commit_extra_info,
       c.changes_made ~ 'merge_adjacent|inline_flush|flushed_inlined|rewrite_delete|compacted_table'
         AND (SELECT count(*) FROM @ducklake_snapshot b
               WHERE b.snapshot_id > s.before AND b.snapshot_id <= s.snapshot_id) < s.snapshot_id - s.before
  FROM (SELECT n.snapshot_id, n.snapshot_time,
               lag(n.snapshot_id, 1, $2::bigint) OVER (ORDER BY n.snapshot_id) AS before
          FROM @lakeproxy_row_changes($1, $2, $3) AS at
          JOIN @ducklake_snapshot n ON n.snapshot_id = at) s
  LEFT JOIN @ducklake_snapshot_changes c ON c.snapshot_id = s.snapshot_id
 ORDER BY s.snapshot_id)sql";

inline constexpr auto kDataFiles = R"sql(
SELECT f.data_file_id, f.begin_snapshot, f.end_snapshot, f.path, f.path_is_relative,
       f.file_format, f.record_count, f.file_size_bytes, f.row_id_start, f.partition_id,
       f.mapping_id, f.partial_max
  FROM @lakeproxy_touched_files($1, $2, $3, $4) AS id
  JOIN @ducklake_data_file f ON f.data_file_id = id
 ORDER BY f.data_file_id)sql";

inline constexpr auto kFileStats = R"sql(
SELECT s.data_file_id, s.column_id, s.column_size_bytes, s.value_count, s.null_count,
       s.min_value, s.max_value, s.contains_nan, n.nan_count, n.data_file_id IS NOT NULL
  FROM @lakeproxy_touched_files($1, $2, $3, $4) AS id
  JOIN @ducklake_file_column_stats s ON s.data_file_id = id
  LEFT JOIN @lakeproxy_nan_count n
    ON n.data_file_id = s.data_file_id AND n.column_id = s.column_id
 ORDER BY s.data_file_id, s.column_id)sql";

inline constexpr auto kPartitionValues = R"sql(
SELECT v.data_file_id, v.partition_key_index, v.partition_value
  FROM @lakeproxy_touched_files($1, $2, $3, $4) AS id
  JOIN @ducklake_file_partition_value v ON v.data_file_id = id
 ORDER BY v.data_file_id, v.partition_key_index)sql";

inline constexpr auto kFileFacts = R"sql(
SELECT p.data_file_id, p.spec_id, p.partition, array_to_json(p.split_offsets), p.sort_order_id,
       p.key_metadata
  FROM @lakeproxy_touched_files($1, $2, $3, $4) AS id
  JOIN @lakeproxy_file p ON p.data_file_id = id)sql";

// All deletes of the files that are touched: a new delete file replaces what
// older ones, in files or in PostgreSQL, have deleted. A flush leaves the partial_max of a
// delete file out that it writes beside its data file, whose own is the last row's snapshot.
inline constexpr auto kDeleteFiles = R"sql(
SELECT d.delete_file_id, d.data_file_id, d.begin_snapshot, d.end_snapshot, d.path,
       d.path_is_relative, d.format, d.delete_count, d.file_size_bytes, d.partial_max,
       CASE WHEN d.partial_max IS NULL AND f.partial_max IS NOT NULL
            THEN @lakeproxy_flushed_at($1, f.partial_max) END
  FROM @lakeproxy_touched_files($1, $2, $3, $4) AS id
  JOIN @ducklake_delete_file d ON d.data_file_id = id
  LEFT JOIN @ducklake_data_file f ON f.data_file_id = id
 WHERE d.begin_snapshot <= $3
 ORDER BY d.delete_file_id)sql";

inline constexpr auto kInlinedRows = R"sql(
SELECT schema_version, row_id, begin_snapshot, end_snapshot, row_values
  FROM @lakeproxy_inlined_rows($1, CASE WHEN $4::boolean THEN -1 ELSE $2::bigint END, $3))sql";

inline constexpr auto kInlinedDeletes = R"sql(
SELECT file_id, row_id, begin_snapshot FROM @lakeproxy_inlined_deletes($1, -1, $3)
 WHERE file_id IN (SELECT @lakeproxy_touched_files($1, $2, $3, $4)))sql";

inline constexpr auto kReadableCopies = R"sql(
SELECT c.data_file_id, c.signature, c.file_size_bytes, c.failure
  FROM @lakeproxy_touched_files($1, $2, $3, $4) AS id
  JOIN @lakeproxy_readable_copy c ON c.data_file_id = id)sql";

inline constexpr auto kMaintained = R"sql(
SELECT snapshot_id, CASE WHEN $4::boolean THEN @lakeproxy_first_row_change($1, $2, $3) END
  FROM @lakeproxy_maintained WHERE table_id = $1)sql";

inline constexpr auto kSchemaVersions = R"sql(
SELECT schema_version, begin_snapshot FROM @ducklake_schema_versions
 WHERE table_id = $1 ORDER BY schema_version)sql";

}  // namespace lake::ducklake
