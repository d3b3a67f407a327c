#include "lakeproxy/ducklake/read/change_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json/fields.h"
#include "lakeproxy/ducklake/lake/lake_path.h"
#include "lakeproxy/ducklake/read/cells.h"
#include "lakeproxy/ducklake/read/reader_impl.h"
#include "lakeproxy/iceberg/schema/literal_json.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::fail;
using base::Result;
using base::pg::Rows;
using model::DataFileId;
using model::LakeDataFile;
using model::SnapshotId;

LakeDataFile* find_file(DataFiles& files, std::int64_t id) {
  auto found = files.find(DataFileId(id));
  return found == files.end() ? nullptr : &found->second;
}

// A partition's source in the newest schema that has it.
const model::Field* newest_source(const model::TableMetadata& table, model::FieldId id) {
  for (auto schema = table.schemas.rbegin(); schema != table.schemas.rend(); ++schema) {
    if (const model::Field* field = schema->find(id)) return field;
  }
  return nullptr;
}

// The type of a partition's source that values of a file are read as: that of now, if it takes
// them, else that of when the file came.
const model::Type* source_type(const model::LakeTable& table, const model::PartitionField& field,
                               SnapshotId begin) {
  const model::Field* newest = newest_source(table.metadata, field.source_id);
  const model::Schema* schema = table.schema_of(begin);
  const model::Field* then = schema != nullptr ? schema->find(field.source_id) : nullptr;
  if (then == nullptr) return newest != nullptr ? &newest->type : nullptr;
  return model::keeps_values(field.transform, then->type, newest->type) ? &newest->type
                                                                        : &then->type;
}

base::Error bad_facts(std::int64_t file) {
  return fail(ErrorKind::kCorrupt,
              fmt::format("lakeproxy_file: data file {} does not fit its table", file));
}

Result<model::PartitionTuple> partition_of(const base::json::Value& json,
                                           const model::PartitionSpec& spec,
                                           const model::LakeTable& table,
                                           const LakeDataFile& file) {
  if (!json.is_array() || json.as_array().size() != spec.fields.size()) {
    return bad_facts(file.id.value);
  }
  model::PartitionTuple tuple;
  for (std::size_t i = 0; i < spec.fields.size(); ++i) {
    const base::json::Value& value = json.as_array()[i];
    if (value.is_null()) {
      tuple.emplace_back();
      continue;
    }
    const model::Type* source = source_type(table, spec.fields[i], file.begin);
    if (source == nullptr) return bad_facts(file.id.value);
    const model::Type type = model::result_type(spec.fields[i].transform, *source);
    ASSIGN_OR_RETURN(auto literal, model::literal_from_json(value, type, "partition"));
    tuple.emplace_back(std::move(literal));
  }
  return tuple;
}

Result<std::vector<std::int64_t>> split_offsets_of(std::string_view text, std::int64_t file) {
  std::vector<std::int64_t> offsets;
  ASSIGN_OR_RETURN(auto json, base::json::parse(text));
  if (!json.is_array()) return bad_facts(file);
  for (const base::json::Value& value : json.as_array()) {
    if (!value.is_int64()) return bad_facts(file);
    offsets.push_back(value.as_int64());
  }
  return offsets;
}

Result<model::IcebergFileFacts> facts_of(const Rows& rows, std::size_t row,
                                         const model::LakeTable& table,
                                         const LakeDataFile& described) {
  const std::int64_t file = described.id.value;
  model::IcebergFileFacts facts;
  facts.spec_id = static_cast<std::int32_t>(rows.opt_int64(row, 1).value_or(0));
  const model::PartitionSpec* spec = table.metadata.find_spec(facts.spec_id);
  if (spec == nullptr) return bad_facts(file);
  if (!rows.is_null(row, 2)) {
    ASSIGN_OR_RETURN(auto json, base::json::parse(rows.text(row, 2)));
    ASSIGN_OR_RETURN(facts.partition, partition_of(json, *spec, table, described));
  }
  if (!rows.is_null(row, 3)) {
    ASSIGN_OR_RETURN(facts.split_offsets, split_offsets_of(rows.text(row, 3), file));
  }
  if (!rows.is_null(row, 4)) facts.sort_order_id = static_cast<std::int32_t>(rows.int64(row, 4));
  if (!rows.is_null(row, 5)) facts.key_metadata = rows.bytes(row, 5);
  return facts;
}

}  // namespace

std::vector<model::LakeCommit> read_commits(const Rows& rows) {
  std::vector<model::LakeCommit> commits;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    commits.push_back({.snapshot = SnapshotId(rows.int64(i, 0)),
                       .committed_ms = rows.int64(i, 1) - kShownEarlierMs,
                       .changes_made = rows.opt_text(i, 2).value_or(""),
                       .author = rows.opt_text(i, 3),
                       .commit_message = rows.opt_text(i, 4),
                       .extra_info = rows.opt_text(i, 5),
                       .stands_for_others = rows.opt_boolean(i, 6).value_or(false)});
  }
  return commits;
}

Result<DataFiles> read_data_files(const Rows& rows, std::string_view folder) {
  DataFiles files;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    LakeDataFile file{
        .id = DataFileId(rows.int64(i, 0)),
        .begin = SnapshotId(rows.int64(i, 1)),
        .end = opt_snapshot(rows, i, 2),
        .path = resolve_path(folder, {rows.text(i, 3), rows.opt_boolean(i, 4) != false}),
        .format = std::string(rows.text(i, 5)),
        .record_count = rows.int64(i, 6),
        .file_size_bytes = rows.int64(i, 7),
        .row_id_start = rows.opt_int64(i, 8),
        .partition_id = rows.opt_int64(i, 9),
        .mapping_id = rows.opt_int64(i, 10),
        .partial_max = opt_snapshot(rows, i, 11)};
    if (file.format != "parquet") {
      return fail(ErrorKind::kUnsupported,
                  fmt::format("data file {} has the format '{}'", file.path, file.format));
    }
    files.emplace(file.id, std::move(file));
  }
  return files;
}

void read_file_stats(const Rows& rows, DataFiles& files) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    LakeDataFile* file = find_file(files, rows.int64(i, 0));
    if (file == nullptr) continue;
    file->stats.push_back({.column_id = static_cast<model::FieldId>(rows.int64(i, 1)),
                           .column_size_bytes = rows.opt_int64(i, 2),
                           .value_count = rows.opt_int64(i, 3),
                           .null_count = rows.opt_int64(i, 4),
                           .min_value = rows.opt_text(i, 5),
                           .max_value = rows.opt_text(i, 6),
                           .contains_nan = rows.opt_boolean(i, 7),
                           .nan_count = rows.opt_int64(i, 8),
                           .nan_count_settled = rows.opt_boolean(i, 9) == true});
  }
}

void read_partition_values(const Rows& rows, DataFiles& files) {
  constexpr std::int64_t kMaxKeys = 1000;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    LakeDataFile* file = find_file(files, rows.int64(i, 0));
    const std::int64_t key = rows.int64(i, 1);
    if (file == nullptr || key < 0 || key >= kMaxKeys) continue;
    const auto index = static_cast<std::size_t>(key);
    if (file->partition_values.size() <= index) file->partition_values.resize(index + 1);
    file->partition_values[index] = rows.opt_text(i, 2);
  }
}

base::Status read_file_facts(const Rows& rows, const model::LakeTable& table, DataFiles& files) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    LakeDataFile* file = find_file(files, rows.int64(i, 0));
    if (file == nullptr) continue;
    ASSIGN_OR_RETURN(file->iceberg, facts_of(rows, i, table, *file));
  }
  return {};
}

Result<model::LakeDeleteFile> read_delete_file(const Rows& rows, std::size_t row, std::size_t first,
                                               std::string_view folder) {
  model::LakeDeleteFile file{
      .id = rows.int64(row, first),
      .data_file_id = DataFileId(rows.int64(row, first + 1)),
      .begin = SnapshotId(rows.int64(row, first + 2)),
      .end = opt_snapshot(rows, row, first + 3),
      .path = resolve_path(folder,
                           {rows.text(row, first + 4), rows.opt_boolean(row, first + 5) != false}),
      .format = std::string(rows.text(row, first + 6)),
      .delete_count = rows.int64(row, first + 7),
      .file_size_bytes = rows.int64(row, first + 8),
      .partial_max = opt_snapshot(rows, row, first + 9)};
  if (file.format != "parquet" && file.format != "puffin") {
    return fail(ErrorKind::kUnsupported,
                fmt::format("delete file {} has the format '{}'", file.path, file.format));
  }
  return file;
}

Result<std::vector<model::LakeDeleteFile>> read_delete_files(const Rows& rows,
                                                             std::string_view folder) {
  std::vector<model::LakeDeleteFile> files;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSIGN_OR_RETURN(auto file, read_delete_file(rows, i, 0, folder));
    files.push_back(std::move(file));
  }
  return files;
}

std::vector<model::LakeInlinedDelete> read_inlined_deletes(const Rows& rows) {
  std::vector<model::LakeInlinedDelete> deletes;
  deletes.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    deletes.push_back({.data_file_id = DataFileId(rows.int64(i, 0)),
                       .row_id = rows.int64(i, 1),
                       .begin = SnapshotId(rows.int64(i, 2))});
  }
  return deletes;
}

}  // namespace lake::ducklake
