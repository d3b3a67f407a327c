#include "lakeproxy/from_iceberg/rows/lake_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/core/text.h"
#include "lakeproxy/from_iceberg/rows/partition_text.h"
#include "lakeproxy/iceberg/value/single_value.h"
#include "lakeproxy/mapping/lake_text.h"
#include "lakeproxy/mapping/type_mapping.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using model::LakeColumnStats;
using model::LakeDataFile;
using Count = std::optional<std::int64_t>;

base::Status check(const AddedFile& added) {
  const model::DataFile& file = added.file;
  if (file.content != model::FileContent::kData ||
      file.file_format != model::FileFormat::kParquet) {
    return base::fail(ErrorKind::kUnsupported,
                      "only Parquet data files can be added: " + file.file_path);
  }
  if (file.record_count < 0 || file.file_size_in_bytes < 0) {
    return base::fail(
        ErrorKind::kInvalid,
        "record_count and file_size_in_bytes must not be negative: " + file.file_path);
  }
  return {};
}

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

// Whether the bounds leave no value that the lake's type cannot hold.
bool fits(const std::string& lake_type, const model::Type& type, const model::DataFile& file,
          model::FieldId id) {
  if (holds_every_value(lake_type) || file.record_count == 0) return true;
  auto found = file.metrics.find(id);
  // DuckDB made these types' files without bounds before, and clients may, too.
  const bool may_lack = lake_type == "int8" || lake_type == "int16" || lake_type == "timestamp_s";
  if (found == file.metrics.end()) return may_lack;
  const model::ColumnMetrics& metrics = found->second;
  if (metrics.null_count && metrics.null_count == metrics.value_count) return true;
  if (metrics.nan_count.value_or(0) > 0) return false;
  for (const auto* bound : {&metrics.lower_bound, &metrics.upper_bound}) {
    if (!*bound && may_lack) continue;
    if (!*bound) return false;
    auto value = materialize::decode_single_value(**bound, type);
    if (!value || !can_hold(lake_type, *value)) return false;
  }
  return true;
}

// A value that the lake's type cannot hold fails each later scan of DuckDB's.
base::Status check_values(const AddedFile& added, const model::LakeTable& before,
                          const model::Schema& schema) {
  for (const auto& [id, lake_type] : before.lake_types) {
    const model::Field* field = schema.find(id);
    const model::Field* held = before.metadata.current_schema().find(id);
    if (field == nullptr || held == nullptr || field->type != held->type) continue;
    if (fits(lake_type, field->type, added.file, id)) continue;
    return base::fail(ErrorKind::kInvalid,
                      fmt::format("column {}: DuckDB holds it as {}, and the bounds of {} do not "
                                  "say that each of its values is one",
                                  field->name, lake_type, added.file.file_path));
  }
  return {};
}

// Writers of Iceberg hold no NULL back from a column that they are shown as optional. DuckDB
// itself writes none there, not even when it writes rows anew that have some.
base::Status check_not_null(const AddedFile& added, const model::LakeTable& before,
                            const model::Schema& schema) {
  for (model::FieldId id : before.not_null_in_lake) {
    const model::Field* field = schema.find(id);
    auto metrics = added.file.metrics.find(id);
    const bool has_none = metrics != added.file.metrics.end() && metrics->second.null_count == 0;
    if (field == nullptr || has_none || added.file.record_count == 0) continue;
    return base::fail(
        ErrorKind::kInvalid,
        fmt::format("column {}: it is NOT NULL in the lake, and nothing says that {} holds no NULL "
                    "there; in DuckDB, ALTER TABLE ... ALTER COLUMN ... DROP NOT NULL allows it",
                    field->name, added.file.file_path));
  }
  return {};
}

// A count below zero is none.
Count known_count(Count count) { return count && *count >= 0 ? count : std::nullopt; }

// DuckLake counts the values that are not null; Iceberg counts all of them.
Count non_null_count(const model::ColumnMetrics& metrics) {
  std::int64_t nulls = std::max<std::int64_t>(metrics.null_count.value_or(0), 0);
  if (!metrics.value_count || *metrics.value_count < nulls) return std::nullopt;
  return *metrics.value_count - nulls;
}

// DuckDB would read the text of a double, or of a time in UTC, as bounds of its own type; it
// keeps none of such columns.
bool has_own_bounds(const model::LakeTypes& lake_types, model::FieldId id) {
  auto held = lake_types.find(id);
  return held == lake_types.end() || arranges_alike(held->second);
}

std::vector<LakeColumnStats> stats_of(const model::DataFile& file, const model::Schema& schema,
                                      const model::LakeTypes& lake_types) {
  std::vector<LakeColumnStats> all;
  for (const auto& [id, metrics] : file.metrics) {
    const model::Field* field = schema.find(id);
    if (field == nullptr || !field->type.is_primitive()) continue;
    LakeColumnStats stats{.column_id = id,
                          .column_size_bytes = known_count(metrics.column_size),
                          .value_count = non_null_count(metrics),
                          .null_count = known_count(metrics.null_count),
                          .min_value = bound_text(metrics.lower_bound, field->type),
                          .max_value = bound_text(metrics.upper_bound, field->type),
                          .contains_nan = std::nullopt,
                          .nan_count = metrics.nan_count,
                          .nan_count_settled = metrics.nan_count.has_value()};
    if (!has_own_bounds(lake_types, id)) {
      stats.min_value.reset();
      stats.max_value.reset();
    }
    if (metrics.nan_count) stats.contains_nan = *metrics.nan_count > 0;
    all.push_back(std::move(stats));
  }
  return all;
}

// The lake's partition that the spec is shown for, if each of its keys has a
// field: a file must not claim a partition without a value for every key.
std::optional<std::int64_t> lake_partition_of(const model::LakeTable& table, std::int32_t spec_id) {
  // The newest first: a lake that was migrated to 1.1 may have one of calendar parts before it.
  for (const auto& [partition, spec] : table.spec_of_partition | std::views::reverse) {
    auto keys = table.keys_of_partition.find(partition);
    if (spec != spec_id || keys == table.keys_of_partition.end()) continue;
    auto mapped = std::ranges::count_if(keys->second.of_field,
                                        [](const auto& key) { return key.has_value(); });
    if (mapped == keys->second.count) return partition;
  }
  return std::nullopt;
}

// More keys than this no partition has.
constexpr std::int64_t kMaxKeys = 1000;

void set_partition_values(const model::LakeTable& before, const model::TableMetadata& after,
                          const model::PartitionSpec& spec, const model::PartitionTuple& tuple,
                          LakeDataFile& file) {
  const model::PartitionKeys& keys = before.keys_of_partition.at(*file.partition_id);
  for (std::size_t i = 0; i < spec.fields.size() && i < keys.of_field.size(); ++i) {
    const auto key = keys.of_field[i];
    if (!key || *key < 0 || *key >= kMaxKeys) continue;
    auto index = static_cast<std::size_t>(*key);
    if (file.partition_values.size() <= index) file.partition_values.resize(index + 1);
    const auto number =
        keys.ordinals.contains(i) ? TimeNumber::kSince1970 : TimeNumber::kCalendarPart;
    file.partition_values[index] = lake_partition_text(spec.fields[i], tuple[i], after, number);
  }
}

// DuckDB would look for a value of the bucketed column elsewhere, and not find
// the file's rows.
base::Status check_bucket(const model::LakeTable& table, std::int32_t spec_id,
                          const LakeDataFile& file) {
  if (!table.bucketed_partition || file.partition_id == table.bucketed_partition) return {};
  return base::fail(
      ErrorKind::kUnsupported,
      fmt::format("partition spec {}: DuckDB looks for rows by the bucket that it partitions the "
                  "table by, and files of this spec have no number of it; in DuckDB, RESET "
                  "PARTITIONED BY takes the bucket away",
                  spec_id));
}

base::Result<LakeDataFile> lake_file(const AddedFile& added, const model::LakeTable& before,
                                     const model::TableMetadata& after) {
  RETURN_IF_ERROR(check(added));
  RETURN_IF_ERROR(check_values(added, before, after.current_schema()));
  RETURN_IF_ERROR(check_not_null(added, before, after.current_schema()));
  const model::PartitionSpec* spec = after.find_spec(added.spec_id);
  if (!after.shows_spec(added.spec_id)) {
    return base::fail(ErrorKind::kInvalid,
                      fmt::format("partition spec {} does not exist", added.spec_id));
  }
  ASSIGN_OR_RETURN(auto checked, check_partition(*spec, added.file.partition, after));
  LakeDataFile file{.path = added.file.file_path,
                    .record_count = added.file.record_count,
                    .file_size_bytes = added.file.file_size_in_bytes,
                    .partition_id = lake_partition_of(before, added.spec_id),
                    .stats = stats_of(added.file, after.current_schema(), before.lake_types)};
  RETURN_IF_ERROR(check_bucket(before, added.spec_id, file));
  if (file.partition_id) set_partition_values(before, after, *spec, checked.tuple, file);
  file.iceberg = {.spec_id = added.spec_id,
                  .partition = std::move(checked.tuple),
                  .split_offsets = added.file.split_offsets,
                  .sort_order_id = added.file.sort_order_id,
                  .key_metadata = added.file.key_metadata};
  return file;
}

}  // namespace

base::Result<std::vector<LakeDataFile>> lake_files(const FilePlace& place,
                                                   const model::LakeTable& before,
                                                   const model::TableMetadata& after,
                                                   const std::vector<AddedFile>& files) {
  std::vector<LakeDataFile> result;
  result.reserve(files.size());
  std::int64_t file_id = place.first_file_id;
  std::int64_t row_id = place.first_row_id;
  std::int64_t bytes = 0;
  for (const AddedFile& added : files) {
    ASSIGN_OR_RETURN(LakeDataFile file, lake_file(added, before, after));
    file.id = model::DataFileId(file_id++);
    file.begin = model::SnapshotId(place.begin);
    file.row_id_start = added.first_row_id.value_or(row_id);
    if (__builtin_add_overflow(row_id, file.record_count, &row_id) ||
        __builtin_add_overflow(bytes, file.file_size_bytes, &bytes)) {
      return base::fail(ErrorKind::kInvalid, "record_count or file_size_in_bytes: too large");
    }
    result.push_back(std::move(file));
  }
  return result;
}

}  // namespace lake::ducklake
