#include "lakeproxy/ducklake/file_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/core/text.h"
#include "lakeproxy/ducklake/partition_text.h"
#include "lakeproxy/materialize/single_value.h"
#include "lakeproxy/model/lake_text.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::pg::array_param;
using base::pg::param;
using base::pg::Query;
using Texts = std::vector<std::optional<std::string>>;
using Numbers = std::vector<std::int64_t>;

template <class Number>
std::optional<std::string> number_text(const std::optional<Number>& value) {
  return value ? std::optional(std::to_string(*value)) : std::nullopt;
}

base::Status check(const AddedFile& added) {
  const model::DataFile& file = added.file;
  if (file.content != model::FileContent::kData ||
      file.file_format != model::FileFormat::kParquet) {
    return base::fail(ErrorKind::kUnsupported,
                      "only Parquet data files can be added: " + file.file_path);
  }
  if (file.record_count < 0 || file.file_size_in_bytes < 0) {
    return base::fail(ErrorKind::kInvalid,
                      "record_count and file_size_in_bytes must not be "
                      "negative: " +
                          file.file_path);
  }
  return {};
}

struct DataRows {
  Numbers ids, relative, counts, sizes, row_ids;
  Texts paths, partitions;
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
  return {sql("INSERT INTO @ducklake_data_file (data_file_id, table_id, begin_snapshot, "
              "end_snapshot, file_order, path, path_is_relative, file_format, record_count, "
              "file_size_bytes, footer_size, row_id_start, partition_id, encryption_key, "
              "mapping_id, partial_max) SELECT id, $1, $2, NULL, NULL, path, rel = 1, 'parquet', "
              "rows, size, NULL, row_id, part::bigint, NULL, NULL, NULL FROM unnest($3::bigint[], "
              "$4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[]) AS "
              "f(id, path, rel, rows, size, row_id, part)"),
          {param(place.table_id), param(place.begin), array_param(rows.ids),
           array_param(rows.paths), array_param(rows.relative), array_param(rows.counts),
           array_param(rows.sizes), array_param(rows.row_ids), array_param(rows.partitions)}};
}

struct StatsRows {
  Numbers files, columns;
  Texts sizes, values, nulls, mins, maxs, nans;
  Numbers nan_files, nan_columns, nan_counts;
};

std::optional<std::string> bound_text(const std::optional<std::string>& bound,
                                      const model::Type& type) {
  if (!bound) return std::nullopt;
  auto literal = materialize::decode_single_value(*bound, type);
  if (!literal) return std::nullopt;
  std::string text = model::to_lake_text(type, *literal);
  // PostgreSQL holds neither in a text.
  if (text.find('\0') != std::string::npos || !base::is_utf8(text)) return std::nullopt;
  return text;
}

// A count below zero is none.
std::optional<std::string> count_text(const std::optional<std::int64_t>& count) {
  return count && *count >= 0 ? number_text(count) : std::nullopt;
}

// DuckLake counts the values that are not null; Iceberg counts all of them.
std::optional<std::string> non_null_count(const model::ColumnMetrics& metrics) {
  std::int64_t nulls = std::max<std::int64_t>(metrics.null_count.value_or(0), 0);
  if (!metrics.value_count || *metrics.value_count < nulls) return std::nullopt;
  return std::to_string(*metrics.value_count - nulls);
}

void add_stats(std::int64_t file_id, const model::DataFile& file, const model::Schema& schema,
               StatsRows& rows) {
  for (const auto& [id, metrics] : file.metrics) {
    const model::Field* field = schema.find(id);
    if (field == nullptr || !field->type.is_primitive()) continue;
    rows.files.push_back(file_id);
    rows.columns.push_back(id);
    rows.sizes.push_back(count_text(metrics.column_size));
    rows.values.push_back(non_null_count(metrics));
    rows.nulls.push_back(count_text(metrics.null_count));
    rows.mins.push_back(bound_text(metrics.lower_bound, field->type));
    rows.maxs.push_back(bound_text(metrics.upper_bound, field->type));
    rows.nans.push_back(metrics.nan_count
                            ? std::optional<std::string>(*metrics.nan_count > 0 ? "1" : "0")
                            : std::nullopt);
    if (metrics.nan_count) {
      rows.nan_files.push_back(file_id);
      rows.nan_columns.push_back(id);
      rows.nan_counts.push_back(*metrics.nan_count);
    }
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

void add_facts(std::int64_t file_id, const AddedFile& added, const CheckedPartition& partition,
               FactRows& rows) {
  rows.files.push_back(file_id);
  rows.specs.push_back(added.spec_id);
  rows.partitions.push_back(to_json(partition));
  rows.splits.push_back(fmt::format("{{{}}}", fmt::join(added.file.split_offsets, ",")));
  rows.orders.push_back(number_text(added.file.sort_order_id));
  rows.keys.push_back(added.file.key_metadata ? base::pg::bytes_param(*added.file.key_metadata)
                                              : std::nullopt);
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

// The lake's partition that the spec is shown for, if each of its keys has a
// field: a file must not claim a partition without a value for every key.
std::optional<std::int64_t> lake_partition_of(const model::LakeTable& table, std::int32_t spec_id) {
  for (const auto& [partition, spec] : table.spec_of_partition) {
    auto keys = table.keys_of_partition.find(partition);
    if (spec != spec_id || keys == table.keys_of_partition.end()) continue;
    auto mapped = std::ranges::count_if(keys->second.of_field,
                                        [](const auto& key) { return key.has_value(); });
    if (mapped == keys->second.count) return partition;
  }
  return std::nullopt;
}

struct AllRows {
  DataRows data;
  StatsRows stats;
  FactRows facts;
  PartitionRows partitions;
};

base::Status add_file(std::int64_t file_id, std::int64_t row_id, const AddedFile& added,
                      const model::LakeTable& before, const model::TableMetadata& after,
                      AllRows& rows) {
  RETURN_IF_ERROR(check(added));
  const model::PartitionSpec* spec = after.find_spec(added.spec_id);
  if (spec == nullptr) {
    return base::fail(ErrorKind::kInvalid,
                      fmt::format("partition spec {} does not exist", added.spec_id));
  }
  ASSIGN_OR_RETURN(auto checked, check_partition(*spec, added.file.partition, after));
  auto partition = lake_partition_of(before, added.spec_id);
  rows.data.ids.push_back(file_id);
  add_path(added.file.file_path, after.location, rows.data);
  rows.data.counts.push_back(added.file.record_count);
  rows.data.sizes.push_back(added.file.file_size_in_bytes);
  rows.data.row_ids.push_back(row_id);
  rows.data.partitions.push_back(number_text(partition));
  add_stats(file_id, added.file, after.current_schema(), rows.stats);
  add_facts(file_id, added, checked, rows.facts);
  if (!partition) return {};
  const auto& keys = before.keys_of_partition.at(*partition).of_field;
  for (std::size_t i = 0; i < spec->fields.size() && i < keys.size(); ++i) {
    if (!keys[i]) continue;
    rows.partitions.files.push_back(file_id);
    rows.partitions.keys.push_back(*keys[i]);
    rows.partitions.values.push_back(lake_partition_text(spec->fields[i], checked.tuple[i], after));
  }
  return {};
}

}  // namespace

base::Result<FileRows> file_rows(const SchemaSql& sql, const FilePlace& place,
                                 const model::LakeTable& before, const model::TableMetadata& after,
                                 const std::vector<AddedFile>& files) {
  FileRows result;
  if (files.empty()) return result;
  AllRows rows;
  std::int64_t file_id = place.first_file_id;
  std::int64_t row_id = place.first_row_id;
  for (const AddedFile& added : files) {
    RETURN_IF_ERROR(add_file(file_id++, row_id, added, before, after, rows));
    if (__builtin_add_overflow(row_id, added.file.record_count, &row_id) ||
        __builtin_add_overflow(result.file_size_bytes, added.file.file_size_in_bytes,
                               &result.file_size_bytes)) {
      return base::fail(ErrorKind::kInvalid, "record_count or file_size_in_bytes: too large");
    }
  }
  result.record_count = row_id - place.first_row_id;
  result.lake.push_back(insert_data_files(sql, place, rows.data));
  if (!rows.stats.files.empty()) result.lake.push_back(insert_stats(sql, place, rows.stats));
  if (!rows.partitions.files.empty()) {
    result.lake.push_back(insert_partition_values(sql, place, rows.partitions));
  }
  result.sidecars.push_back(insert_facts(sql, place, rows.facts));
  if (!rows.stats.nan_files.empty()) result.sidecars.push_back(insert_nan_counts(sql, rows.stats));
  return result;
}

std::vector<Query> table_stats_queries(const SchemaSql& sql, std::int64_t table_id,
                                       const model::Schema& schema, const FileRows& rows) {
  Numbers columns, floats;
  model::visit_fields(schema.fields, [&](const model::Field& field) {
    if (!field.type.is_primitive()) return;
    columns.push_back(field.id);
    bool is_float = field.type.kind() == model::TypeKind::kFloat ||
                    field.type.kind() == model::TypeKind::kDouble;
    floats.push_back(is_float ? 1 : 0);
  });
  return {{sql("WITH raised AS (UPDATE @ducklake_table_stats SET record_count = record_count + $2, "
               "next_row_id = next_row_id + $2, file_size_bytes = file_size_bytes + $3 WHERE "
               "table_id = $1 RETURNING 1) INSERT INTO @ducklake_table_stats (table_id, "
               "record_count, next_row_id, file_size_bytes) SELECT $1, $2, $2, $3 WHERE NOT EXISTS "
               "(SELECT 1 FROM raised)"),
           {param(table_id), param(rows.record_count), param(rows.file_size_bytes)}},
          {sql("UPDATE @ducklake_table_column_stats SET contains_null = true, min_value = NULL, "
               "max_value = NULL, contains_nan = CASE WHEN contains_nan IS NULL THEN NULL ELSE "
               "true END WHERE table_id = $1"),
           {param(table_id)}},
          {sql("INSERT INTO @ducklake_table_column_stats (table_id, column_id, contains_null, "
               "contains_nan, min_value, max_value, extra_stats) SELECT $1, c, true, CASE WHEN f = "
               "1 THEN true END, NULL, NULL, NULL FROM unnest($2::bigint[], $3::bigint[]) AS u(c, "
               "f) WHERE NOT EXISTS (SELECT 1 FROM @ducklake_table_column_stats WHERE table_id = "
               "$1 AND column_id = c)"),
           {param(table_id), array_param(columns), array_param(floats)}}};
}

}  // namespace lake::ducklake
