#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "lakeproxy/ducklake/lake/not_there.h"
#include "lakeproxy/ducklake/lake/reasons.h"
#include "lakeproxy/ducklake/read/cells.h"
#include "lakeproxy/ducklake/read/reader_impl.h"
#include "lakeproxy/ducklake/read/stored_ids.h"
#include "lakeproxy/ducklake/read/table_row.h"
#include "lakeproxy/ducklake/read/table_rows.h"
#include "lakeproxy/iceberg/update/metadata_change.h"
#include "lakeproxy/mapping/shown_parts.h"
#include "lakeproxy/to_iceberg/definition/default_properties.h"
#include "lakeproxy/to_iceberg/definition/name_maps.h"
#include "lakeproxy/to_iceberg/definition/old_files.h"
#include "lakeproxy/to_iceberg/definition/order_ids.h"
#include "lakeproxy/to_iceberg/definition/partition_fields.h"
#include "lakeproxy/to_iceberg/definition/schema_ids.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::RequestContext;
using base::Result;
using base::Task;
using base::pg::param;
using base::pg::Query;
using base::pg::RowsPtr;
using model::LakeTable;
using model::TableId;

// The statements of one load, in the order of load_queries.
enum Load : std::size_t {
  kVersion,
  kTable,
  kDefinitions,
  kDefinitionUses,
  kColumns,
  kColumnDocs,
  kPartitions,
  kSortKeys,
  kNameMaps,
  kPathColumns,
  kMaterialized,
  kAliases,
  kMetadataLog,
  kPending,
  kRemoved,
};

// Snapshots that the caller holds already are not read again.
std::vector<base::pg::Param> unknown_snapshots(TableId table, std::int64_t default_version,
                                               const LakeTable* known) {
  const base::pg::Param none = param(std::int64_t{-1});
  if (known == nullptr || known->materialized.empty()) {
    return {param(table.value), none, none, param(default_version), none};
  }
  return {param(table.value), param(known->materialized.back().snapshot_id.value),
          param(known->version.revision), param(default_version),
          param(std::int64_t{known->metadata.format_version})};
}

std::vector<Query> load_queries(const LakeSql& sql, TableId table, std::int64_t default_version,
                                const LakeTable* known) {
  std::vector<Query> queries;
  queries.push_back({sql.version, {}});
  for (const base::pg::Statement* statement :
       {&sql.table, &sql.definitions, &sql.definition_uses, &sql.columns, &sql.column_docs,
        &sql.partitions, &sql.sort_keys, &sql.name_maps, &sql.path_columns, &sql.materialized,
        &sql.aliases, &sql.metadata_log, &sql.pending}) {
    queries.push_back({*statement, {param(table.value)}});
  }
  queries[kTable].params.push_back(param(default_version));
  queries[kPending].params.push_back(param(default_version));
  queries[kMaterialized].params = unknown_snapshots(table, default_version, known);
  queries.push_back({sql.removed, {}});
  return queries;
}

using Rows = std::vector<RowsPtr>;

// Parts that need no more than their own row.
void set_plain_parts(TableRow& row, LakeTable& table) {
  table.namespace_id = row.namespace_id;
  table.name = std::move(row.name);
  table.created = row.created;
  table.last_maintenance = row.last_maintenance;
  table.cleared_at = row.cleared_at;
  table.metadata.format_version = row.format_version;
  table.metadata.table_uuid = row.uuid;
  table.metadata.location = std::move(row.location);
  table.metadata.last_updated_ms = row.last_updated_ms;
  table.metadata.properties = std::move(row.properties);
  table.metadata.refs = std::move(row.refs);
  table.metadata.statistics = std::move(row.statistics);
  table.metadata.partition_statistics = std::move(row.partition_statistics);
  table.metadata.out_of_sight = std::move(row.out_of_sight);
  table.metadata.next_row_id = row.next_row_id;
}

std::vector<model::FieldId> columns_of_now(const std::vector<LakePartition>& partitions) {
  std::vector<model::FieldId> columns;
  for (const LakePartition& partition : partitions) {
    if (partition.end) continue;
    for (const LakePartitionKey& key : partition.keys) columns.push_back(key.column_id);
  }
  return columns;
}

template <class Definition>
std::vector<Definition> list(const std::map<std::int32_t, Definition>& definitions) {
  auto values = definitions | std::views::values;
  return {values.begin(), values.end()};
}

void set_schemas(const AssignedIds& ids, const TableRow& row, LakeTable& table) {
  model::TableMetadata& metadata = table.metadata;
  metadata.schemas = list(ids.schemas);
  metadata.last_column_id = row.last_column_id;
  for (model::Schema& schema : metadata.schemas) {
    metadata.last_column_id = std::max(metadata.last_column_id, schema.max_field_id());
    if (metadata.format_version < 3) schema.fields = without_defaults(std::move(schema.fields));
  }
  metadata.current_schema_id = ids.schema_at.rbegin()->second;
  table.schema_at = ids.schema_at;
}

void set_specs(const AssignedIds& ids, SpecUse use, const TableRow& row, LakeTable& table) {
  table.metadata.partition_specs =
      named_beside_columns(list(ids.specs), table.metadata.current_schema());
  table.metadata.default_spec_id = use.default_spec_id;
  table.metadata.last_partition_id = std::max(use.last_partition_id, row.last_partition_id);
  table.unpartitioned_spec_id = use.unpartitioned_spec_id;
  table.spec_of_partition = ids.spec_of_partition;
  table.spec_of_mapping = ids.spec_of_mapping;
  table.default_spec_at = ids.default_at;
  table.keys_of_partition = std::move(use.keys_of_partition);
  table.bucketed_partition = use.bucketed_partition;
}

// What the lake says of its files stands above what a client's property says.
void set_name_maps(const base::pg::Rows& rows, LakeTable& table) {
  table.name_maps = read_name_maps(rows);
  if (table.name_maps.empty()) return;
  auto mapping = name_mapping_of(table.name_maps, table.metadata.schemas);
  std::string& text = table.metadata.properties[std::string(model::kNameMappingProperty)];
  // One that is none has no meaning for anybody.
  if (auto clients = model::parse_name_mapping(text)) add_names(*clients, mapping);
  text = model::to_json_text(mapping);
}

// Assigns ids to what has none in `ids`. A column of DuckDB's raises the table's format
// version to the one that has its type.
Result<std::vector<OldFileRule>> set_definition(const Rows& rows, const TableRow& row,
                                                ReadableCopies copies, AssignedIds& ids,
                                                LakeTable& table) {
  LakeColumns columns{.columns = read_lake_columns(*rows[kColumns]),
                      .docs = read_column_docs(*rows[kColumnDocs]),
                      .copies = copies};
  table.metadata.format_version =
      std::max(table.metadata.format_version, needed_format_version(columns.columns));
  columns.format_version = table.metadata.format_version;
  auto asked = table.metadata.properties.find(std::string(model::kFormatVersionProperty));
  if (asked != table.metadata.properties.end()) {
    asked->second = std::to_string(table.metadata.format_version);
  }
  table.metadata.default_properties = default_properties(columns);
  auto& properties = table.metadata.properties;
  properties.insert(table.metadata.default_properties.begin(),
                    table.metadata.default_properties.end());
  auto assigned = assign_schemas(columns, ids);
  if (!assigned) return std::move(assigned).error().with_context("table " + table.name);
  set_schemas(ids, row, table);
  table.not_null_in_lake =
      not_null_in_lake(columns, table.version.snapshot, table.metadata.current_schema());
  table.lake_types = lake_types_at(columns.columns, table.version.snapshot);
  auto partitions = read_partitions(*rows[kPartitions]);
  table.partition_columns = columns_of_now(partitions);
  const SpecUse use = assign_specs({columns, std::move(partitions),
                                    read_path_columns(*rows[kPathColumns]), row.last_partition_id},
                                   ids);
  set_specs(ids, use, row, table);
  table.sort = read_sort(*rows[kSortKeys]);
  table.metadata.default_sort_order_id =
      assign_order(columns, table.sort, row.default_sort_order_id, ids);
  table.metadata.sort_orders = list(ids.orders);
  set_name_maps(*rows[kNameMaps], table);
  return old_file_rules(columns, geographies_of(table));
}

// Whether the statement left out what `known` holds: the same condition there.
bool left_out(const Rows& rows, const LakeTable& table, const LakeTable* known) {
  return known != nullptr && !known->materialized.empty() &&
         table.metadata.format_version == known->metadata.format_version &&
         rows[kRemoved]->int64(0, 0) <= known->version.revision;
}

base::Status set_history(const Rows& rows, const LakeTable* known, LakeTable& table) {
  ASSIGN_OR_RETURN(auto newer, read_materialized(*rows[kMaterialized]));
  if (left_out(rows, table, known)) {
    table.materialized = known->materialized;
    keep_shown_specs(*known, table);
  }
  for (const auto& snapshot : newer.items()) table.materialized.push_back(snapshot);
  table.aliases = read_aliases(*rows[kAliases]);
  resolve_client_ids(table.aliases, table.metadata);
  const base::pg::Rows& log = *rows[kMetadataLog];
  table.metadata.metadata_log = read_metadata_log(log);
  if (!log.empty()) table.metadata_sequence = log.int64(log.size() - 1, 2);
  table.pending = read_snapshot_ids(*rows[kPending]);
  // The sidecar may have lost what the caller still holds: its rows are written
  // without waiting for the disk.
  if (!table.materialized.empty()) {
    model::SnapshotId last = table.materialized.back().snapshot_id;
    std::erase_if(table.pending, [&](model::SnapshotId id) { return id <= last; });
  }
  return {};
}

base::Error broken(const OldFileRule& rule, const LakeTable& table) {
  return base::Error(ErrorKind::kUnsupported, fmt::format("table {}: {}", table.name, rule.message))
      .with_reason(kOldRows);
}

std::vector<base::pg::Param> old_file_params(TableId table, const std::vector<OldFileRule>& rules) {
  std::vector<std::int64_t> before;
  std::vector<std::int64_t> until;
  std::vector<std::int64_t> defaulted;
  std::vector<std::int64_t> of_duckdb;
  for (const OldFileRule& rule : rules) {
    before.push_back(rule.before.value);
    until.push_back(rule.until ? rule.until->value : INT64_MAX);
    defaulted.push_back(rule.defaulted.value_or(0));
    of_duckdb.push_back(rule.is_of_duckdbs_files ? 1 : 0);
  }
  return {param(table.value), base::pg::array_param(before), base::pg::array_param(until),
          base::pg::array_param(defaulted), base::pg::array_param(of_duckdb)};
}

// A row unless a failover lost the state that the ids were assigned at.
Query find_state(const LakeSql& sql, const model::LakeVersion& version) {
  return {sql.same_history, {param(version.snapshot.value), param(version.snapshot_ms)}};
}

constexpr int kAttempts = 8;

}  // namespace

// What is shown is stored: a load that assigned ids stores them, and reads again where others
// stored theirs first.
Task<Result<LakeTable>> LakeReader::load_table(RequestContext context, TableId id,
                                               std::shared_ptr<const LakeTable> known) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    CO_ASSIGN_OR_RETURN(auto table, co_await impl_->try_load(context, id, known));
    if (table) co_return std::move(*table);
  }
  co_return base::fail(ErrorKind::kUnavailable,
                       fmt::format("table {} changes faster than it can be read", id.value));
}

Task<Result<std::optional<LakeTable>>> LakeReader::Impl::try_load(
    RequestContext context, TableId id, std::shared_ptr<const LakeTable> known) {
  CO_ASSIGN_OR_RETURN(
      Rows rows,
      co_await read(context, load_queries(sql, id, options.default_format_version, known.get())));
  if (rows[kTable]->empty()) co_return no_such_table(fmt::format("(id {})", id.value));
  CO_ASSIGN_OR_RETURN(const auto version, read_version(*rows[kVersion]));
  LakeTable table{.table_id = id, .version = version};
  CO_ASSIGN_OR_RETURN(TableRow row, read_table(*rows[kTable]));
  set_plain_parts(row, table);
  CO_ASSIGN_OR_RETURN(const auto stored,
                      read_assigned_ids(*rows[kDefinitions], *rows[kDefinitionUses]));
  AssignedIds ids = stored;
  CO_ASSIGN_OR_RETURN(auto rules, set_definition(rows, row, copies(), ids, table));
  CO_RETURN_IF_ERROR(set_history(rows, known.get(), table));
  // Copies stand for files that break a rule, and inlined rows are written in the types of now.
  if (!rules.empty() && copies() == ReadableCopies::kOff) {
    std::vector<Query> check;
    check.push_back({sql.old_files, old_file_params(id, rules)});
    CO_ASSIGN_OR_RETURN(Rows older, co_await read(context, std::move(check)));
    if (!older[0]->empty()) {
      co_return broken(rules.at(static_cast<std::size_t>(older[0]->int64(0, 0))), table);
    }
  }
  const NewIds added = store_ids(names, id, stored, ids);
  if (added.queries.empty()) co_return table;
  CO_ASSIGN_OR_RETURN(Rows answers, co_await store(context, version, added.queries));
  // With the ids a schema's format version is stored, and its history is another.
  const bool is_raised = table.metadata.format_version > row.format_version;
  if (is_raised || !added.all_stored(answers)) co_return std::nullopt;
  co_return table;
}

Task<Result<Rows>> LakeReader::Impl::store(RequestContext context, model::LakeVersion version,
                                           std::vector<Query> queries) {
  CO_ASSIGN_OR_RETURN(auto begun, co_await pool->begin(context, {find_state(sql, version)}));
  if (begun.rows[0]->empty()) {
    co_await begun.transaction->rollback();
    co_return Rows{};
  }
  auto stored = co_await begun.transaction->run_and_commit(std::move(queries));
  if (!stored && stored.error().kind() == ErrorKind::kConflict) co_return Rows{};
  co_return stored;
}

// Another server, or a client's commit, may give the id to another spec meanwhile.
Task<Result<std::int32_t>> LakeReader::assign_unpartitioned_spec(RequestContext context, TableId id,
                                                                 model::LakeVersion version) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    CO_RETURN_IF_ERROR(co_await impl_->store(
        context, version, {{impl_->sql.add_unpartitioned_spec, {param(id.value)}}}));
    CO_ASSIGN_OR_RETURN(
        Rows found,
        co_await impl_->read(context, {{impl_->sql.unpartitioned_spec, {param(id.value)}}}));
    if (!found[0]->empty()) co_return int32(*found[0], 0, 0);
  }
  co_return base::fail(ErrorKind::kConflict,
                       fmt::format("table {} changed while it was published", id.value))
      .with_reason(kStale);
}

Task<base::Error> LakeReader::store_nulls(RequestContext context, TableId id,
                                          model::LakeVersion version, ColumnsWithNull found) {
  auto rows = co_await impl_->read(context, {{impl_->sql.definitions, {param(id.value)}},
                                             {impl_->sql.definition_uses, {param(id.value)}}});
  if (!rows) co_return std::move(rows).error();
  auto stored = read_assigned_ids(*(*rows)[0], *(*rows)[1]);
  if (!stored) co_return std::move(stored).error();
  AssignedIds ids = *stored;
  allow_nulls(found, ids);
  NewIds added = store_ids(impl_->names, id, *stored, ids);
  if (!added.queries.empty()) {
    auto done = co_await impl_->store(context, version, std::move(added.queries));
    if (!done) co_return std::move(done).error();
  }
  co_return base::fail(ErrorKind::kConflict,
                       fmt::format("columns of table {} became optional", id.value))
      .with_reason(kStale);
}

}  // namespace lake::ducklake
