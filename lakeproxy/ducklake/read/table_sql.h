#pragma once

// What LakeSql asks of one table, for the definition and history that it has. $1 is the table.

namespace lake::ducklake {

// last_change is the newest snapshot that changed the definition or the rows.
inline constexpr auto kTable = R"sql(
SELECT t.table_name, t.table_uuid, t.schema_id,
       t.path, t.path_is_relative, s.path, s.path_is_relative,
       (SELECT @lakeproxy_lake_option('data_path')),
       (SELECT min(begin_snapshot) FROM @ducklake_table WHERE table_id = $1),
       p.table_uuid, @lakeproxy_format_version($1, $2), p.properties, p.refs,
       p.default_sort_order_id, p.last_partition_id, p.updated_ms, p.cleared_at,
       (SELECT m.snapshot_id FROM @lakeproxy_maintained m WHERE m.table_id = $1),
       (SELECT g.value FROM @ducklake_tag g WHERE g.object_id = $1 AND g.key = 'comment'
           AND g.end_snapshot IS NULL ORDER BY g.begin_snapshot DESC LIMIT 1),
       (SELECT max(r.next_row_id) FROM @ducklake_table_stats r WHERE r.table_id = $1),
       (SELECT floor(extract(epoch FROM n.snapshot_time) * 1000)::bigint
          FROM @ducklake_snapshot n WHERE n.snapshot_id >= greatest(
            t.begin_snapshot,
            (SELECT max(greatest(begin_snapshot, end_snapshot)) FROM @ducklake_column WHERE table_id = $1),
            (SELECT max(begin_snapshot) FROM @ducklake_partition_info WHERE table_id = $1),
            (SELECT max(begin_snapshot) FROM @ducklake_data_file WHERE table_id = $1),
            (SELECT max(end_snapshot) FROM @ducklake_data_file WHERE table_id = $1 AND end_snapshot IS NOT NULL),
            (SELECT max(begin_snapshot) FROM @ducklake_delete_file WHERE table_id = $1),
            (SELECT max(at) FROM @lakeproxy_inlined_changes($1, -1, 9223372036854775807) AS at))
         ORDER BY n.snapshot_id LIMIT 1),
       p.statistics, p.partition_statistics, p.out_of_sight,
       (SELECT coalesce(max(column_id), 0) FROM @ducklake_column WHERE table_id = $1)
  FROM @ducklake_table t
  JOIN @ducklake_schema s ON s.schema_id = t.schema_id
  LEFT JOIN @lakeproxy_table p ON p.table_id = t.table_id
 WHERE t.table_id = $1 AND t.end_snapshot IS NULL)sql";

// The schemas, specs and orders that have ids, and where they count.
inline constexpr auto kDefinitions = R"sql(
SELECT kind, id, body FROM @lakeproxy_definition WHERE table_id = $1)sql";

inline constexpr auto kDefinitionUses = R"sql(
SELECT kind, key, id FROM @lakeproxy_definition_use WHERE table_id = $1)sql";

// What counts at the newest snapshot whose schema has its id, and later. Besides, all rows
// of columns of which older files ask more: see old_file_rules() and keys_of_fields().
inline constexpr auto kColumns = R"sql(
SELECT column_id, begin_snapshot, end_snapshot, column_order, column_name, column_type,
       initial_default, CASE WHEN default_value_type IS DISTINCT FROM 'expression'
                              OR (starts_with(default_value, 'CAST(''')
                                  AND column_type IN ('boolean', 'date', 'time', 'timestamp', 'timestamptz'))
                            THEN default_value END,
       nulls_allowed, parent_column
  FROM @ducklake_column
 WHERE table_id = $1
   AND (end_snapshot IS NULL
        OR end_snapshot > (SELECT coalesce(max(u.key), -1) FROM @lakeproxy_definition_use u
                            WHERE u.table_id = $1 AND u.kind = 'schema')
        OR column_id IN (SELECT c.column_id FROM @ducklake_column c WHERE c.table_id = $1
                          GROUP BY c.column_id
                         HAVING min(c.column_type) <> max(c.column_type)
                             OR count(c.initial_default) > 0 OR bool_or(c.column_type = 'variant'))
        OR column_id IN (SELECT p.column_id FROM @ducklake_partition_column p
                          WHERE p.table_id = $1 AND starts_with(p.transform, 'bucket')))
 ORDER BY column_id, begin_snapshot)sql";

// Inlined rows have the columns of the schema version that they were written at.
inline constexpr auto kAllColumns = R"sql(
SELECT column_id, begin_snapshot, end_snapshot, column_order, column_name, column_type,
       initial_default, CASE WHEN default_value_type IS DISTINCT FROM 'expression'
                              OR (starts_with(default_value, 'CAST(''')
                                  AND column_type IN ('boolean', 'date', 'time', 'timestamp', 'timestamptz'))
                            THEN default_value END,
       nulls_allowed, parent_column
  FROM @ducklake_column WHERE table_id = $1 ORDER BY column_id, begin_snapshot)sql";

inline constexpr auto kColumnDocs = R"sql(
SELECT column_id, begin_snapshot, end_snapshot, value
  FROM @ducklake_column_tag
 WHERE table_id = $1 AND key = 'comment' AND value IS NOT NULL
   AND (end_snapshot IS NULL
        OR end_snapshot > (SELECT coalesce(max(u.key), -1) FROM @lakeproxy_definition_use u
                            WHERE u.table_id = $1 AND u.kind = 'schema'))
 ORDER BY column_id, begin_snapshot)sql";

// Nothing where the table has one. Two at once, or a client that adds a spec, take the same
// id: the first counts.
inline constexpr auto kAddUnpartitionedSpec = R"sql(
INSERT INTO @lakeproxy_definition (table_id, kind, id, body)
SELECT $1, 'spec', max(id) + 1, '[]' FROM @lakeproxy_definition
 WHERE table_id = $1 AND kind = 'spec'
HAVING count(*) > 0 AND count(*) FILTER (WHERE json_array_length(body) = 0) = 0
    ON CONFLICT DO NOTHING)sql";

inline constexpr auto kUnpartitionedSpec = R"sql(
SELECT id FROM @lakeproxy_definition
 WHERE table_id = $1 AND kind = 'spec' AND json_array_length(body) = 0 ORDER BY id)sql";

// A partition that DuckDB took away is a row without columns.
// A table that was dropped and came back has two rows of a partition: it goes on.
inline constexpr auto kPartitions = R"sql(
SELECT i.partition_id, i.begin_snapshot, i.end_snapshot,
       c.partition_key_index, c.column_id, c.transform
  FROM (SELECT p.partition_id, min(p.begin_snapshot) AS begin_snapshot,
               CASE WHEN bool_and(p.end_snapshot IS NOT NULL) THEN max(p.end_snapshot) END
                 AS end_snapshot
          FROM @ducklake_partition_info p WHERE p.table_id = $1 GROUP BY p.partition_id) i
  LEFT JOIN @ducklake_partition_column c
    ON c.table_id = $1 AND c.partition_id = i.partition_id
 ORDER BY i.partition_id, i.begin_snapshot, c.partition_key_index)sql";

// A row without an expression says only that there was an order.
inline constexpr auto kSortKeys = R"sql(
SELECT e.expression, e.sort_direction, e.null_order
  FROM @ducklake_sort_info i
  LEFT JOIN @ducklake_sort_expression e ON e.table_id = i.table_id AND e.sort_id = i.sort_id
   AND i.end_snapshot IS NULL
 WHERE i.table_id = $1 ORDER BY i.begin_snapshot, e.sort_key_index)sql";

// Of the mappings that a file of the table still needs.
inline constexpr auto kNameMaps = R"sql(
SELECT n.mapping_id, n.target_field_id, n.source_name, n.is_partition
  FROM @ducklake_column_mapping c JOIN @ducklake_name_mapping n ON n.mapping_id = c.mapping_id
 WHERE c.table_id = $1 AND EXISTS (
       SELECT 1 FROM @ducklake_data_file f WHERE f.table_id = $1 AND f.mapping_id = c.mapping_id)
 ORDER BY n.mapping_id, n.column_id)sql";

// A row of each column.
inline constexpr auto kPathColumns = R"sql(
SELECT p.mapping_id, p.begin_snapshot, unnest(p.column_ids)
  FROM @lakeproxy_path_columns p WHERE p.table_id = $1 ORDER BY p.mapping_id)sql";

// The first of the rules that a file breaks at a snapshot which is still there, as an
// index. DuckDB's transaction may have written a file before the column came or changed,
// which then begins at the same snapshot: it has no statistics of a column that it
// lacks, and nothing tells in which type it holds another. A file that was added as it
// is may lack the column whenever it came; its name map says so. Of a file that DuckDB wrote itself
// no client has told anything. Asked only where no copies stand for such files.
inline constexpr auto kOldFiles = R"sql(
SELECT rule.place - 1
  FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) WITH ORDINALITY
       AS rule(before, until, defaulted, of_duckdb, place)
 WHERE EXISTS (SELECT 1 FROM (
         SELECT f.begin_snapshot, f.end_snapshot FROM @ducklake_data_file f
          WHERE f.table_id = $1 AND f.begin_snapshot < before AND of_duckdb = 0
         UNION ALL
         SELECT f.begin_snapshot, f.end_snapshot FROM @ducklake_data_file f
          WHERE f.table_id = $1 AND f.begin_snapshot >= before AND of_duckdb = 1
            AND f.mapping_id IS NULL
            AND NOT EXISTS (SELECT 1 FROM @lakeproxy_file c
                             WHERE c.data_file_id = f.data_file_id)
         UNION ALL
         SELECT f.begin_snapshot, f.end_snapshot FROM @ducklake_data_file f
          WHERE f.table_id = $1 AND f.begin_snapshot = before AND f.mapping_id IS NULL
            AND of_duckdb = 0
            AND NOT EXISTS (SELECT 1 FROM @ducklake_file_column_stats s
                             WHERE s.data_file_id = f.data_file_id AND s.column_id = defaulted)
         UNION ALL
         SELECT f.begin_snapshot, f.end_snapshot FROM @ducklake_data_file f
          WHERE f.table_id = $1 AND f.begin_snapshot < until AND f.mapping_id IS NOT NULL
            AND EXISTS (SELECT 1 FROM @ducklake_column_mapping c WHERE c.table_id = $1)
            AND defaulted > 0
            AND NOT EXISTS (SELECT 1 FROM @ducklake_name_mapping n
                             WHERE n.mapping_id = f.mapping_id AND n.target_field_id = defaulted)
       ) f WHERE EXISTS (SELECT 1 FROM @ducklake_snapshot s
                          WHERE s.snapshot_id >= greatest(before, f.begin_snapshot)
                            AND s.snapshot_id < least(until, f.end_snapshot)))
    OR EXISTS (SELECT 1 FROM @lakeproxy_inlined_rows($1, -1, before - 1) r
                WHERE r.begin_snapshot < before AND of_duckdb = 0
                  AND EXISTS (SELECT 1 FROM @ducklake_snapshot s
                               WHERE s.snapshot_id >= before
                                 AND s.snapshot_id < least(until, r.end_snapshot)))
 ORDER BY rule.place LIMIT 1)sql";

inline constexpr auto kMaterialized = R"sql(
SELECT m.snapshot_json FROM @lakeproxy_snapshot m
 WHERE m.table_id = $1
   AND m.format_version = (SELECT @lakeproxy_format_version($1, $4))
   AND EXISTS (SELECT 1 FROM @ducklake_snapshot s WHERE s.snapshot_id = m.snapshot_id)
   AND NOT (m.format_version = $5 AND m.snapshot_id <= $2
            AND (SELECT snapshots_removed_revision FROM @lakeproxy_state) <= $3)
 ORDER BY m.snapshot_id)sql";

inline constexpr auto kRemoved = R"sql(
SELECT snapshots_removed_revision FROM @lakeproxy_state)sql";

inline constexpr auto kAliases = R"sql(
SELECT client_snapshot_id, snapshot_id FROM @lakeproxy_snapshot_alias WHERE table_id = $1)sql";

inline constexpr auto kMetadataLog = R"sql(
SELECT timestamp_ms, metadata_file, sequence FROM (
  SELECT sequence, timestamp_ms, metadata_file FROM @lakeproxy_metadata_log
   WHERE table_id = $1 ORDER BY sequence DESC LIMIT 101) AS newest
 ORDER BY sequence)sql";

inline constexpr auto kPending = R"sql(
SELECT at FROM @lakeproxy_row_changes($1, coalesce((
  SELECT max(m.snapshot_id) FROM @lakeproxy_snapshot m
   WHERE m.table_id = $1
     AND m.format_version = (SELECT @lakeproxy_format_version($1, $2))
     AND EXISTS (SELECT 1 FROM @ducklake_snapshot s WHERE s.snapshot_id = m.snapshot_id)
  ), -1), (SELECT max(snapshot_id) FROM @ducklake_snapshot)) AS at)sql";

}  // namespace lake::ducklake
