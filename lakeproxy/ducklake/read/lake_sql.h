#pragma once

// The statements that read a lake, rendered once for its schema. '@' stands for
// the quoted schema and its dot (see schema_sql.h); every value is a parameter.
// What a statement's columns mean stands beside the code that reads its rows.

#include "base/postgres/session.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"

namespace lake::ducklake {

struct LakeSql {
  explicit LakeSql(const SchemaSql& sql);

  base::pg::Statement version;

  // Changes. $1 snapshot, $2 its time, a limit or a revision.
  base::pg::Statement same_history;
  base::pg::Statement changes_since;
  base::pg::Statement tables_defined_since;
  base::pg::Statement sidecars_since;

  // Names. $1 schema name or prefix, $2 name to continue after, $3 limit.
  base::pg::Statement find_schema;
  base::pg::Statement list_schemas;
  base::pg::Statement load_schema;
  base::pg::Statement list_tables;
  base::pg::Statement find_table;
  base::pg::Statement identify;  ///< $1 tables.

  // One table's definition. $1 table.
  base::pg::Statement table;
  base::pg::Statement columns;
  base::pg::Statement all_columns;  ///< Also those of former times.
  base::pg::Statement column_docs;
  base::pg::Statement definitions;
  base::pg::Statement definition_uses;
  base::pg::Statement add_unpartitioned_spec;
  base::pg::Statement unpartitioned_spec;
  base::pg::Statement partitions;
  base::pg::Statement sort_keys;
  base::pg::Statement name_maps;
  base::pg::Statement path_columns;
  base::pg::Statement old_files;  ///< $2 to $5 rules: OldFileRule.

  // One table's history. $1 table.
  base::pg::Statement materialized;
  base::pg::Statement aliases;
  base::pg::Statement metadata_log;
  base::pg::Statement pending;
  base::pg::Statement removed;

  // Row-level changes. $1 table, $2 after, $3 up to.
  base::pg::Statement commits;
  base::pg::Statement data_files;
  base::pg::Statement file_stats;
  base::pg::Statement partition_values;
  base::pg::Statement file_facts;
  base::pg::Statement delete_files;
  base::pg::Statement inlined_rows;
  base::pg::Statement inlined_deletes;
  base::pg::Statement maintained;
  base::pg::Statement readable_copies;
  base::pg::Statement schema_versions;  ///< $1 alone.
};

}  // namespace lake::ducklake
