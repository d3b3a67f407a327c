#include "lakeproxy/to_iceberg/snapshot/data_file_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "lakeproxy/iceberg/value/bounds.h"
#include "lakeproxy/iceberg/value/single_value.h"
#include "lakeproxy/iceberg/value/transform.h"
#include "lakeproxy/mapping/lake_text.h"

namespace lake::materialize {
namespace {

using model::Literal;

// DuckDB may call a zero of either sign the smallest; Iceberg orders -0.0
// below +0.0, so a bound of zero takes the sign that excludes nothing.
enum class Side { kLower, kUpper };
Literal widen_zero(Literal value, Side side) {
  if (auto* f = std::get_if<float>(&value); f != nullptr && *f == 0) {
    *f = side == Side::kLower ? -0.0F : 0.0F;
  }
  if (auto* d = std::get_if<double>(&value); d != nullptr && *d == 0) {
    *d = side == Side::kLower ? -0.0 : 0.0;
  }
  return value;
}

// DuckDB keeps the bounds of some columns as whole numbers that clients see as doubles. One
// that is no double is none: readers may answer MIN and MAX from bounds, so it is not widened.
bool is_rounded(const model::Type& type, std::string_view text) {
  constexpr std::size_t kDigitsOfEachDouble = 15;
  return type.kind() == model::TypeKind::kDouble && text.size() > kDigitsOfEachDouble &&
         text.find_first_not_of("-0123456789") == std::string_view::npos;
}

std::optional<std::string> bound(const std::optional<std::string>& text, const model::Type& type,
                                 Side side) {
  if (!text || is_rounded(type, *text)) return std::nullopt;
  auto value = model::parse_lake_text(type, *text);
  if (!value) return std::nullopt;
  std::string bytes = encode_single_value(widen_zero(std::move(*value), side));
  if (side == Side::kLower) return shorten_lower_bound(bytes, type);
  return shorten_upper_bound(bytes, type);
}

const model::LakeColumnStats* find_stats(const model::LakeDataFile& file, model::FieldId column) {
  for (const auto& stats : file.stats) {
    if (stats.column_id == column) return &stats;
  }
  return nullptr;
}

// The snapshot whose type of the column the file holds: a readable copy has later ones.
model::SnapshotId written_at(const model::LakeDataFile& file, model::FieldId id) {
  if (!file.copy) return file.begin;
  const auto& copied = file.copy->columns;
  return std::ranges::find(copied, id, &model::CopiedColumn::id) == copied.end()
             ? file.begin
             : file.copy->shown_at;
}

// The column as it was when the file was written: a float's 0.1 is another
// number once it is read as a double. Readers widen a bound by themselves.
const model::Field* find_field(const model::LakeTable& table, const model::LakeDataFile& file,
                               model::FieldId id) {
  const auto& schemas = table.metadata.schemas;
  const model::Schema* then = table.schema_of(written_at(file, id));
  if (const model::Field* field = then != nullptr ? then->find(id) : nullptr) return field;
  for (auto schema = schemas.rbegin(); schema != schemas.rend(); ++schema) {
    if (const model::Field* field = schema->find(id)) return field;
  }
  return nullptr;
}

// Whether the file's copy holds what stands in the path of the file itself: all of it, or nothing.
bool holds_path(const model::LakeDataFile& file) {
  if (!file.copy || !file.copy->added) return false;
  return std::ranges::any_of(file.copy->columns, [&](const model::CopiedColumn& column) {
    return file.copy->added->names.stands_in_path(column.id);
  });
}

// Whether the value of the field that the lake keeps is none of what is shown: the file's copy has
// the column as another type, or holds what stood in the path.
bool has_other_value(const model::LakeTable& table, const model::LakeDataFile& file,
                     const model::PartitionField& field) {
  if (holds_path(file) && file.copy->added->names.stands_in_path(field.source_id)) return true;
  const model::Schema* then = file.copy ? table.schema_of(file.begin) : nullptr;
  const model::Field* kept = then != nullptr ? then->find(field.source_id) : nullptr;
  const model::Field* shown = find_field(table, file, field.source_id);
  return kept != nullptr && shown != nullptr &&
         !model::keeps_values(field.transform, kept->type, shown->type);
}

bool is_float(const model::Type& type) {
  return type.kind() == model::TypeKind::kFloat || type.kind() == model::TypeKind::kDouble;
}

// Zeros of both signs are equal bounds, yet not one value.
bool is_zero(const Literal& value) {
  const auto* f = std::get_if<float>(&value);
  const auto* d = std::get_if<double>(&value);
  return (f != nullptr && *f == 0) || (d != nullptr && *d == 0);
}

std::optional<std::int64_t> count_or_unknown(const std::optional<std::int64_t>& count) {
  return count && *count >= 0 ? count : std::nullopt;
}

// The value that all rows of the file have, if they have one.
struct OneValue {
  bool known = false;
  std::optional<Literal> value;
};

OneValue from_bounds(const model::PartitionField& field, const model::Field& source,
                     const model::LakeDataFile& file) {
  const auto* stats = find_stats(file, source.id);
  if (stats == nullptr || !stats->null_count) return {};
  if (*stats->null_count == file.record_count) return {true, std::nullopt};
  if (*stats->null_count != 0 || !stats->min_value || !stats->max_value) return {};
  if (is_float(source.type) && stats->nan_count != 0) return {};
  if (is_rounded(source.type, *stats->min_value)) return {};
  auto low = model::parse_lake_text(source.type, *stats->min_value);
  auto high = model::parse_lake_text(source.type, *stats->max_value);
  if (!low || !high || is_zero(*low)) return {};
  auto first = apply_transform(field.transform, source.type, *low);
  auto last = apply_transform(field.transform, source.type, *high);
  if (!first || !last || *first != *last) return {};
  return {true, *first};
}

const model::PartitionKeys* keys_of(const model::LakeTable& table,
                                    const model::LakeDataFile& file) {
  if (!file.partition_id) return nullptr;
  auto keys = table.keys_of_partition.find(*file.partition_id);
  return keys == table.keys_of_partition.end() ? nullptr : &keys->second;
}

// A bucket says nothing about its values' order, so only the lake's own number
// tells it; the lake shows buckets only of types that both hash alike. Numbers that count
// from 1970 are Iceberg's, also of files without statistics.
bool is_told_by_partition(const model::PartitionField& field, std::size_t index,
                          const model::PartitionKeys* keys) {
  return field.transform.kind == model::TransformKind::kBucket ||
         (keys != nullptr && keys->ordinals.contains(index));
}

OneValue from_partition(std::size_t index, const model::Field& source,
                        const model::PartitionKeys* keys, const model::LakeDataFile& file) {
  if (keys == nullptr || index >= keys->of_field.size()) return {};
  auto held = keys->of_field[index];
  if (!held) return {};
  auto key = static_cast<std::size_t>(*held);
  if (key >= file.partition_values.size()) return {};
  const auto& text = file.partition_values[key];
  if (!text) {
    const auto* stats = find_stats(file, source.id);
    return {stats != nullptr && stats->null_count == file.record_count, std::nullopt};
  }
  auto value = model::parse_lake_text(model::Type(model::TypeKind::kInt), *text);
  return {value.has_value(), value};
}

std::optional<model::PartitionTuple> partition_of(const model::LakeTable& table,
                                                  const model::PartitionSpec& spec,
                                                  const model::LakeDataFile& file) {
  model::PartitionTuple tuple;
  const model::PartitionKeys* keys = keys_of(table, file);
  for (std::size_t i = 0; i < spec.fields.size(); ++i) {
    const model::Field* source = find_field(table, file, spec.fields[i].source_id);
    if (source == nullptr) return std::nullopt;
    const bool is_told = is_told_by_partition(spec.fields[i], i, keys);
    // A number's text is ordered otherwise than the number, whose bounds these are.
    const bool is_cut = spec.fields[i].transform.kind == model::TransformKind::kTruncate;
    if ((is_told || is_cut) && has_other_value(table, file, spec.fields[i])) return std::nullopt;
    OneValue one = is_told ? from_partition(i, *source, keys, file)
                           : from_bounds(spec.fields[i], *source, file);
    if (!one.known) return std::nullopt;
    tuple.push_back(std::move(one.value));
  }
  return tuple;
}

// Leaves `view` as it is where the file has no value of a field.
void set_spec(const model::LakeTable& table, const model::LakeDataFile& file, std::int32_t spec_id,
              FileView& view) {
  const model::PartitionSpec* spec = table.metadata.find_spec(spec_id);
  if (spec == nullptr) return;
  auto tuple = partition_of(table, *spec, file);
  if (!tuple) return;
  view.spec_id = spec_id;
  view.file.partition = std::move(*tuple);
}

constexpr std::int32_t kNoSpec = -1;

bool says_value(const model::PartitionSpec* spec, model::FieldId column) {
  return spec != nullptr && std::ranges::any_of(spec->fields, [&](const auto& field) {
           return field.source_id == column &&
                  field.transform.kind == model::TransformKind::kIdentity;
         });
}

// A column whose value stands in the file's path alone, and that the spec does not say.
const model::LakeNameMap::Column* column_not_said(const model::LakeTable& table,
                                                  const model::LakeDataFile& file,
                                                  const FileView& view) {
  if (!file.mapping_id || holds_path(file)) return nullptr;
  auto map = table.name_maps.find(*file.mapping_id);
  if (map == table.name_maps.end()) return nullptr;
  const model::PartitionSpec* spec = table.metadata.find_spec(view.spec_id);
  for (const auto& [id, column] : map->second.columns) {
    if (column.in_path && !says_value(spec, id)) return &column;
  }
  return nullptr;
}

// The spec that files were written for. Where the lake has no partition for what a client made the
// default, as of truncate, it is the one of when the file came; set at the file's own snapshot it
// may have been so before or behind it, and is passed over. Nothing of it changes later.
std::optional<std::int32_t> spec_of(const model::LakeTable& table,
                                    const model::LakeDataFile& file) {
  if (file.partition_id) {
    auto known = table.spec_of_partition.find(*file.partition_id);
    return known == table.spec_of_partition.end() ? std::nullopt : std::optional(known->second);
  }
  auto after = table.default_spec_at.lower_bound(file.begin);
  if (file.mapping_id || after == table.default_spec_at.begin()) return std::nullopt;
  return std::prev(after)->second;
}

void set_partition(const model::LakeTable& table, const model::LakeDataFile& file, FileView& view) {
  view.spec_id = table.unpartitioned_spec_id.value_or(kNoSpec);
  if (auto spec = spec_of(table, file)) set_spec(table, file, *spec, view);
  if (column_not_said(table, file, view) == nullptr) return;
  auto of_mapping = table.spec_of_mapping.find(*file.mapping_id);
  if (of_mapping != table.spec_of_mapping.end()) set_spec(table, file, of_mapping->second, view);
}

// A value that stands in the path alone reaches readers as a partition value.
base::Status check_columns_of_path(const model::LakeTable& table, const model::LakeDataFile& file,
                                   const FileView& view) {
  const model::LakeNameMap::Column* column = column_not_said(table, file, view);
  if (column == nullptr) return {};
  return base::fail(base::ErrorKind::kUnsupported,
                    fmt::format("table {}: the value of column '{}' stands in the path of {} "
                                "alone, and cannot be shown as that of a partition",
                                table.name, column->name, file.path));
}

bool has_other_values(const model::LakeTable& table, const model::LakeDataFile& file,
                      std::int32_t spec_id) {
  const model::PartitionSpec* spec = table.metadata.find_spec(spec_id);
  return spec != nullptr && std::ranges::any_of(spec->fields, [&](const auto& field) {
           return has_other_value(table, file, field);
         });
}

void set_iceberg_facts(const model::LakeTable& table, const model::LakeDataFile& file,
                       const model::IcebergFileFacts& facts, FileView& view) {
  if (has_other_values(table, file, facts.spec_id)) {
    view.spec_id = table.unpartitioned_spec_id.value_or(kNoSpec);
    set_spec(table, file, facts.spec_id, view);
  } else {
    view.spec_id = facts.spec_id;
    view.file.partition = facts.partition;
  }
  view.file.split_offsets = facts.split_offsets;
  view.file.sort_order_id = facts.sort_order_id;
  view.file.key_metadata = facts.key_metadata;
}

}  // namespace

model::ColumnMetrics view_metrics(const model::LakeColumnStats& stats, const model::Type& type,
                                  std::int64_t record_count) {
  model::ColumnMetrics metrics;
  metrics.column_size = count_or_unknown(stats.column_size_bytes);
  // DuckDB does not count values of types that it has no bounds of, as times with a zone:
  // to readers a column that has as many values as NULLs holds NULLs alone.
  if (stats.value_count == 0 && stats.null_count == 0 && record_count > 0) return metrics;
  metrics.null_count = count_or_unknown(stats.null_count);
  // DuckLake counts the values that are not null, Iceberg all of them.
  if (auto values = count_or_unknown(stats.value_count); values && metrics.null_count) {
    metrics.value_count = *values + *metrics.null_count;
  }
  if (is_float(type)) {
    bool none = stats.value_count == 0 && stats.null_count == record_count;
    metrics.nan_count = none ? std::optional<std::int64_t>(0) : count_or_unknown(stats.nan_count);
  }
  metrics.lower_bound = bound(stats.min_value, type, Side::kLower);
  metrics.upper_bound = bound(stats.max_value, type, Side::kUpper);
  return metrics;
}

base::Result<std::int32_t> unpartitioned_spec(const model::LakeTable& table) {
  if (table.unpartitioned_spec_id) return *table.unpartitioned_spec_id;
  return base::fail(base::ErrorKind::kConflict,
                    fmt::format("table {}: no partition spec without fields", table.name))
      .with_reason(kNoUnpartitionedSpec);
}

base::Result<FileView> view_data_file(const model::LakeTable& table,
                                      const model::LakeDataFile& file) {
  FileView view;
  view.file.file_path = file.path;
  view.file.record_count = file.record_count;
  view.file.file_size_in_bytes = file.file_size_bytes;
  view.file.first_row_id = file.row_id_start;
  // The ids stand in the file: those of rows that were updated, flushed in several
  // forms, or merged from ranges with gaps between. What had them before may be gone.
  if (!file.row_id_start || file.partial_max) view.row_id_end = table.metadata.next_row_id;
  view.begin = file.begin;
  for (const auto& stats : file.stats) {
    const model::Field* field = find_field(table, file, stats.column_id);
    if (field == nullptr || !field->type.is_primitive()) continue;
    view.file.metrics[stats.column_id] = view_metrics(stats, field->type, file.record_count);
  }
  if (file.iceberg) {
    set_iceberg_facts(table, file, *file.iceberg, view);
  } else {
    set_partition(table, file, view);
  }
  RETURN_IF_ERROR(check_columns_of_path(table, file, view));
  if (view.spec_id == kNoSpec) RETURN_IF_ERROR(unpartitioned_spec(table));
  return view;
}

}  // namespace lake::materialize
