#include "lakeproxy/from_iceberg/rows/file_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lakeproxy/from_iceberg/rows/partition_text.h"

namespace lake::ducklake {
namespace {

using base::pg::array_param;
using base::pg::param;
using base::pg::Query;
using Texts = std::vector<std::optional<std::string>>;
using Numbers = std::vector<std::int64_t>;

template <class Number>
std::optional<std::string> number_text(const std::optional<Number>& value) {
  return value ? std::optional(std::to_string(*value)) : std::nullopt;
}

std::optional<std::string> flag_text(std::optional<bool> value) {
  return value ? std::optional<std::string>(*value ? "1" : "0") : std::nullopt;
}

struct DataRows {
  Numbers ids, relative, counts, sizes, row_ids;
  Texts paths, partitions, mappings;
};

// A path under the table is kept relative, as DuckDB does, so that a lake can
// be moved with its prefix.
void add_path(const std::string& path, const std::string& location, DataRows& rows) {
  std::string base = location + "/";
  bool relative = path.starts_with(base) && path.size() > base.size();
  rows.relative.push_back(relative ? 1 : 0);
  rows.paths.push_back(relative ? path.substr(base.size()) : path);
}

Query insert_data_files(const SchemaSql& sql, const FilePlace& place, const DataRows& rows) {
  return {
      sql("INSERT INTO @ducklake_data_file (data_file_id, table_id, begin_snapshot, "
          "end_snapshot, file_order, path, path_is_relative, file_format, record_count, "
          "file_size_bytes, footer_size, row_id_start, partition_id, encryption_key, "
          "mapping_id, partial_max) SELECT id, $1, $2, NULL, NULL, path, rel = 1, 'parquet', "
          "rows, size, NULL, row_id, part::bigint, NULL, map::bigint, NULL FROM "
          "unnest($3::bigint[], "
          "$4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[], "
          "$10::text[]) AS f(id, path, rel, rows, size, row_id, part, map)"),
      {param(place.table_id), param(place.begin), array_param(rows.ids), array_param(rows.paths),
       array_param(rows.relative), array_param(rows.counts), array_param(rows.sizes),
       array_param(rows.row_ids), array_param(rows.partitions), array_param(rows.mappings)}};
}

struct StatsRows {
  Numbers files, columns;
  Texts sizes, values, nulls, mins, maxs, nans;
  Numbers nan_files, nan_columns, nan_counts;
};

void add_stats(const model::LakeDataFile& file, StatsRows& rows) {
  for (const model::LakeColumnStats& stats : file.stats) {
    rows.files.push_back(file.id.value);
    rows.columns.push_back(stats.column_id);
    rows.sizes.push_back(number_text(stats.column_size_bytes));
    rows.values.push_back(number_text(stats.value_count));
    rows.nulls.push_back(number_text(stats.null_count));
    rows.mins.push_back(stats.min_value);
    rows.maxs.push_back(stats.max_value);
    rows.nans.push_back(flag_text(stats.contains_nan));
    if (!stats.nan_count) continue;
    rows.nan_files.push_back(file.id.value);
    rows.nan_columns.push_back(stats.column_id);
    rows.nan_counts.push_back(*stats.nan_count);
  }
}

Query insert_stats(const SchemaSql& sql, const FilePlace& place, const StatsRows& rows) {
  return {sql("INSERT INTO @ducklake_file_column_stats (data_file_id, table_id, column_id, "
              "column_size_bytes, value_count, null_count, min_value, max_value, contains_nan, "
              "extra_stats) SELECT f, $1, c, size::bigint, vals::bigint, nulls::bigint, lo, hi, "
              "nan::integer = 1, NULL FROM unnest($2::bigint[], $3::bigint[], $4::text[], "
              "$5::text[], $6::text[], $7::text[], $8::text[], $9::text[]) AS s(f, c, size, vals, "
              "nulls, lo, hi, nan)"),
          {param(place.table_id), array_param(rows.files), array_param(rows.columns),
           array_param(rows.sizes), array_param(rows.values), array_param(rows.nulls),
           array_param(rows.mins), array_param(rows.maxs), array_param(rows.nans)}};
}

Query insert_nan_counts(const SchemaSql& sql, const StatsRows& rows) {
  return {
      sql("INSERT INTO @lakeproxy_nan_count (data_file_id, column_id, nan_count) SELECT * FROM "
          "unnest($1::bigint[], $2::bigint[], $3::bigint[])"),
      {array_param(rows.nan_files), array_param(rows.nan_columns), array_param(rows.nan_counts)}};
}

struct FactRows {
  Numbers files, specs;
  Texts partitions, splits, orders, keys;
};

base::Status add_facts(const model::LakeDataFile& file, const model::TableMetadata& metadata,
                       FactRows& rows) {
  if (!file.iceberg) return {};
  const model::IcebergFileFacts& facts = *file.iceberg;
  ASSIGN_OR_RETURN(auto partition,
                   check_partition(*metadata.find_spec(facts.spec_id), facts.partition, metadata));
  rows.files.push_back(file.id.value);
  rows.specs.push_back(facts.spec_id);
  rows.partitions.push_back(to_json(partition));
  rows.splits.push_back(fmt::format("{{{}}}", fmt::join(facts.split_offsets, ",")));
  rows.orders.push_back(number_text(facts.sort_order_id));
  rows.keys.push_back(facts.key_metadata ? base::pg::bytes_param(*facts.key_metadata)
                                         : std::nullopt);
  return {};
}

Query insert_facts(const SchemaSql& sql, const FilePlace& place, const FactRows& rows) {
  return {sql("INSERT INTO @lakeproxy_file (data_file_id, table_id, spec_id, partition, "
              "split_offsets, sort_order_id, key_metadata) SELECT f, $1, s, p::jsonb, "
              "o::bigint[], so::integer, k::bytea FROM unnest($2::bigint[], $3::bigint[], "
              "$4::text[], $5::text[], $6::text[], $7::text[]) AS x(f, s, p, o, so, k)"),
          {param(place.table_id), array_param(rows.files), array_param(rows.specs),
           array_param(rows.partitions), array_param(rows.splits), array_param(rows.orders),
           array_param(rows.keys)}};
}

struct PartitionRows {
  Numbers files, keys;
  Texts values;
};

Query insert_partition_values(const SchemaSql& sql, const FilePlace& place,
                              const PartitionRows& rows) {
  return {sql("INSERT INTO @ducklake_file_partition_value (data_file_id, table_id, "
              "partition_key_index, partition_value) SELECT f, $1, k, v FROM unnest($2::bigint[], "
              "$3::bigint[], $4::text[]) AS p(f, k, v)"),
          {param(place.table_id), array_param(rows.files), array_param(rows.keys),
           array_param(rows.values)}};
}

void add_partition_values(const model::LakeDataFile& file, PartitionRows& rows) {
  for (std::size_t key = 0; key < file.partition_values.size(); ++key) {
    rows.files.push_back(file.id.value);
    rows.keys.push_back(static_cast<std::int64_t>(key));
    rows.values.push_back(file.partition_values[key]);
  }
}

void add_data(const model::LakeDataFile& file, const std::string& location, DataRows& rows) {
  rows.ids.push_back(file.id.value);
  add_path(file.path, location, rows);
  rows.counts.push_back(file.record_count);
  rows.sizes.push_back(file.file_size_bytes);
  rows.row_ids.push_back(file.row_id_start.value_or(0));
  rows.partitions.push_back(number_text(file.partition_id));
  rows.mappings.push_back(number_text(file.mapping_id));
}

}  // namespace

base::Result<FileRows> file_rows(const SchemaSql& sql, const FilePlace& place,
                                 const model::TableMetadata& metadata,
                                 const std::vector<model::LakeDataFile>& files) {
  FileRows result;
  if (files.empty()) return result;
  DataRows data;
  StatsRows stats;
  FactRows facts;
  PartitionRows partitions;
  for (const model::LakeDataFile& file : files) {
    add_data(file, metadata.location, data);
    add_stats(file, stats);
    add_partition_values(file, partitions);
    RETURN_IF_ERROR(add_facts(file, metadata, facts));
    result.record_count += file.record_count;
    result.file_size_bytes += file.file_size_bytes;
  }
  result.lake.push_back(insert_data_files(sql, place, data));
  if (!stats.files.empty()) result.lake.push_back(insert_stats(sql, place, stats));
  if (!partitions.files.empty()) {
    result.lake.push_back(insert_partition_values(sql, place, partitions));
  }
  if (!facts.files.empty()) result.sidecars.push_back(insert_facts(sql, place, facts));
  if (!stats.nan_files.empty()) result.sidecars.push_back(insert_nan_counts(sql, stats));
  return result;
}

}  // namespace lake::ducklake
