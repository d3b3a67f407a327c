#include "lakeproxy/ducklake/read/lake_sql.h"

#include "lakeproxy/ducklake/read/changes_sql.h"
#include "lakeproxy/ducklake/read/table_sql.h"

namespace lake::ducklake {
namespace {

// Asked before every answer: a time as a double is exact to the microsecond here, and costs less
// than the numeric that extract() makes. The milliseconds are the same that the checks of a
// snapshot's time compute with extract().
constexpr auto kVersion = R"sql(
SELECT s.snapshot_id, revision, snapshots_removed_revision,
       (date_part('epoch', s.snapshot_time) * 1000000)::bigint / 1000,
       (SELECT max(m.value) FROM @ducklake_metadata m WHERE m.key = 'version'),
       (SELECT p.version FROM @lakeproxy_policy_version p)
  FROM @lakeproxy_state LEFT JOIN LATERAL
       (SELECT snapshot_id, snapshot_time FROM @ducklake_snapshot
         ORDER BY snapshot_id DESC LIMIT 1) AS s ON true)sql";

// A row when the snapshot is one of the lake's history as it is now.
constexpr auto kSameHistory = R"sql(
SELECT 1 FROM @ducklake_snapshot
 WHERE snapshot_id = $1 AND floor(extract(epoch FROM snapshot_time) * 1000)::bigint = $2)sql";

constexpr auto kChangesSince = R"sql(
SELECT snapshot_id, changes_made FROM @ducklake_snapshot_changes
 WHERE snapshot_id > $1 ORDER BY snapshot_id LIMIT $2)sql";

// A table that was made, renamed or dropped.
constexpr auto kTablesDefinedSince = R"sql(
SELECT table_id, begin_snapshot FROM @ducklake_table WHERE begin_snapshot > $1
UNION SELECT table_id, end_snapshot FROM @ducklake_table WHERE end_snapshot > $1)sql";

constexpr auto kSidecarsSince = R"sql(
SELECT table_id, revision FROM @lakeproxy_table WHERE revision > $1)sql";

constexpr auto kFindSchema = R"sql(
SELECT id FROM @lakeproxy_find_schema($1) AS id WHERE id IS NOT NULL)sql";

// Names that begin with $1 and have no level behind it; U+001F parts levels.
// Names that Iceberg cannot express are not listed.
constexpr auto kListSchemas = R"sql(
SELECT level FROM (
  SELECT substr(n.flat_name, char_length($1::text) + 1) AS level FROM @lakeproxy_schemas() n
   WHERE starts_with(n.flat_name, $1)) AS s
 WHERE level <> '' AND level !~ '[\x01-\x1f\x7f]' AND octet_length(level) <= 255
   AND level COLLATE "C" > $2
 ORDER BY level COLLATE "C" LIMIT $3)sql";

constexpr auto kLoadSchema = R"sql(
SELECT s.schema_id, s.path, s.path_is_relative,
       (SELECT @lakeproxy_lake_option('data_path')),
       n.properties
  FROM @ducklake_schema s LEFT JOIN @lakeproxy_namespace n ON n.schema_id = s.schema_id
 WHERE s.schema_id = (SELECT @lakeproxy_find_schema($1)))sql";

constexpr auto kListTables = R"sql(
SELECT t.table_name FROM @ducklake_table t
 WHERE t.schema_id = (SELECT @lakeproxy_find_schema($1)) AND t.end_snapshot IS NULL
   AND t.table_name !~ '[\x01-\x1f\x7f]' AND NOT starts_with(lower(t.table_name), '__mask_')
   AND t.table_name COLLATE "C" > $2
 ORDER BY t.table_name COLLATE "C" LIMIT $3)sql";

constexpr auto kFindTable = R"sql(
SELECT t.table_id FROM @ducklake_table t
 WHERE t.schema_id = (SELECT @lakeproxy_find_schema($1))
   AND t.table_name = $2 AND t.end_snapshot IS NULL)sql";

constexpr auto kIdentify = R"sql(
SELECT s.flat_name, t.table_name
  FROM @ducklake_table t JOIN @lakeproxy_schemas() s ON s.schema_id = t.schema_id
 WHERE t.table_id = ANY($1::bigint[]) AND t.end_snapshot IS NULL)sql";

}  // namespace

LakeSql::LakeSql(const SchemaSql& sql)
    : version(sql(kVersion)),
      same_history(sql(kSameHistory)),
      changes_since(sql(kChangesSince)),
      tables_defined_since(sql(kTablesDefinedSince)),
      sidecars_since(sql(kSidecarsSince)),
      find_schema(sql(kFindSchema)),
      list_schemas(sql(kListSchemas)),
      load_schema(sql(kLoadSchema)),
      list_tables(sql(kListTables)),
      find_table(sql(kFindTable)),
      identify(sql(kIdentify)),
      table(sql(kTable)),
      columns(sql(kColumns)),
      all_columns(sql(kAllColumns)),
      column_docs(sql(kColumnDocs)),
      definitions(sql(kDefinitions)),
      definition_uses(sql(kDefinitionUses)),
      add_unpartitioned_spec(sql(kAddUnpartitionedSpec)),
      unpartitioned_spec(sql(kUnpartitionedSpec)),
      partitions(sql(kPartitions)),
      sort_keys(sql(kSortKeys)),
      name_maps(sql(kNameMaps)),
      path_columns(sql(kPathColumns)),
      old_files(sql(kOldFiles)),
      materialized(sql(kMaterialized)),
      aliases(sql(kAliases)),
      metadata_log(sql(kMetadataLog)),
      pending(sql(kPending)),
      removed(sql(kRemoved)),
      commits(sql(kCommits)),
      data_files(sql(kDataFiles)),
      file_stats(sql(kFileStats)),
      partition_values(sql(kPartitionValues)),
      file_facts(sql(kFileFacts)),
      delete_files(sql(kDeleteFiles)),
      inlined_rows(sql(kInlinedRows)),
      inlined_deletes(sql(kInlinedDeletes)),
      maintained(sql(kMaintained)),
      readable_copies(sql(kReadableCopies)),
      schema_versions(sql(kSchemaVersions)) {}

}  // namespace lake::ducklake
