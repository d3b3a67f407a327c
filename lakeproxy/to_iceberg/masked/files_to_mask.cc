#include "lakeproxy/to_iceberg/masked/files_to_mask.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json/json.h"
#include "lakeproxy/derive/plan/content_hash.h"
#include "lakeproxy/iceberg/scan/delete_index.h"
#include "lakeproxy/iceberg/schema/literal_json.h"
#include "lakeproxy/model/server_folder.h"

namespace lake::masked {
namespace {

using base::ErrorKind;
using base::fail;
using exporter::MaskRules;
using materialize::ListedManifest;
using model::DataFile;
using model::ManifestEntry;

// Digits of a name's hash: files of one table and one signature are told apart by it.
constexpr std::size_t kNameDigits = 32;

scan::ListedFile listed(const ManifestEntry& entry, const ListedManifest& manifest) {
  return {manifest.manifest.partition_spec_id,
          entry.sequence_number.value_or(manifest.manifest.sequence_number), &entry.data_file};
}

/// The delete files of a snapshot, and which of them count for a data file.
struct Deletes {
  scan::DeleteIndex index;
  std::vector<const DataFile*> files;
};

bool is_live(const ManifestEntry& entry) { return entry.status != model::EntryStatus::kDeleted; }

base::Result<Deletes> deletes_of(const model::TableMetadata& metadata,
                                 const std::vector<ListedManifest>& list) {
  Deletes deletes;
  for (const ListedManifest& manifest : list) {
    if (manifest.manifest.content != model::ManifestContent::kDeletes) continue;
    const model::PartitionSpec* spec = metadata.find_spec(manifest.manifest.partition_spec_id);
    if (spec == nullptr) return fail(ErrorKind::kCorrupt, "a manifest's spec is not the table's");
    for (const ManifestEntry& entry : *manifest.entries) {
      if (!is_live(entry)) continue;
      if (entry.data_file.content != model::FileContent::kPositionDeletes) {
        return fail(ErrorKind::kUnsupported, "the table has deletes that are not by position");
      }
      deletes.index.add(listed(entry, manifest), spec->is_unpartitioned());
      deletes.files.push_back(&entry.data_file);
    }
  }
  return deletes;
}

// Ids and types at any depth, with what a file without a column gives for it. Names do not count:
// readers go by the ids.
std::string text_of(const model::Schema& schema) {
  std::string text;
  model::visit_fields(schema.fields, [&](const model::Field& field) {
    text += fmt::format("{}:{}", field.id, field.type.to_string());
    if (field.initial_default) {
      text += '=' + base::json::write(model::to_json(*field.initial_default, field.type));
    }
    text += ' ';
  });
  return text;
}

std::string name_of(const exporter::MaskedCopy& copy, std::string_view columns) {
  std::string text(columns);
  auto add = [&text](std::string_view part) { text += fmt::format("\n{}:{}", part.size(), part); };
  add(copy.source.file_path);
  for (const DataFile& deletes : copy.deletes) {
    add(deletes.file_path);
    if (deletes.content_offset) text += fmt::format(" {}", *deletes.content_offset);
  }
  if (copy.origin.first_row_id) {
    text += fmt::format("\nrows {} {}", *copy.origin.first_row_id, copy.origin.sequence_number);
  }
  return materialize::content_sha256(text).substr(0, kNameDigits);
}

// A reader takes the values of such a column from the partition where the file lacks it.
std::vector<model::FieldId> path_columns(const model::PartitionSpec& spec) {
  std::vector<model::FieldId> ids;
  for (const model::PartitionField& field : spec.fields) {
    if (field.transform.kind == model::TransformKind::kIdentity) ids.push_back(field.source_id);
  }
  return ids;
}

}  // namespace

std::string masked_folder(std::string_view table_location, std::string_view signature) {
  return fmt::format("{}masked/{}", model::server_folder(table_location), signature);
}

base::Result<std::shared_ptr<const MaskRules>> rules_of(const model::Schema& schema,
                                                        const policy::MaskPlan& plan) {
  auto rules = std::make_shared<MaskRules>();
  for (const model::Field& field : schema.fields) rules->columns.push_back({field});
  auto is_there = [&schema](model::FieldId id, const std::string& name) {
    const model::Field* held = schema.find(id);
    return held != nullptr && held->name == name;
  };
  for (const policy::ColumnMask& mask : plan.masks) {
    auto column =
        std::ranges::find(rules->columns, mask.field, [](const auto& one) { return one.field.id; });
    if (!is_there(mask.field, mask.column)) {
      return fail(ErrorKind::kUnavailable, "the table's columns have changed; try again");
    }
    if (column == rules->columns.end()) {
      return fail(ErrorKind::kUnsupported,
                  fmt::format("policy {}: masks a part of a column, which files cannot be made for",
                              mask.policy));
    }
    column->mask = mask.expression;
  }
  for (const policy::RowFilter& filter : plan.filters) {
    for (const auto& column : filter.columns) {
      if (!is_there(column.field, column.name)) {
        return fail(ErrorKind::kUnavailable, "the table's columns have changed; try again");
      }
    }
    rules->filters.push_back(filter.predicate);
  }
  return rules;
}

base::Result<std::vector<FileToMask>> files_to_mask(const model::TableMetadata& metadata,
                                                    const std::vector<ListedManifest>& list,
                                                    const policy::MaskPlan& plan) {
  const model::Schema& schema = metadata.current_schema();
  ASSIGN_OR_RETURN(auto rules, rules_of(schema, plan));
  ASSIGN_OR_RETURN(Deletes deletes, deletes_of(metadata, list));
  const std::string columns = text_of(schema);
  const std::string folder = masked_folder(metadata.location, plan.signature);
  // An entry that this process has written itself still has what version 2 does not hold. Every
  // server must come to the same name.
  const bool row_ids = metadata.format_version >= 3;
  std::vector<FileToMask> files;
  for (const ListedManifest& manifest : list) {
    if (manifest.manifest.content != model::ManifestContent::kData) continue;
    const model::PartitionSpec* spec = metadata.find_spec(manifest.manifest.partition_spec_id);
    if (spec == nullptr) return fail(ErrorKind::kCorrupt, "a manifest's spec is not the table's");
    for (const ManifestEntry& entry : *manifest.entries) {
      if (!is_live(entry)) continue;
      if (entry.data_file.file_format != model::FileFormat::kParquet) {
        return fail(ErrorKind::kUnsupported, "the table has files that are not Parquet");
      }
      const scan::ListedFile data = listed(entry, manifest);
      FileToMask file;
      file.copy.source = entry.data_file;
      file.copy.rules = rules;
      file.copy.origin = {.deleted = {},
                          .first_row_id = row_ids ? entry.data_file.first_row_id : std::nullopt,
                          .sequence_number = data.sequence_number,
                          .path_columns = path_columns(*spec)};
      for (std::uint32_t place : deletes.index.find(data)) {
        file.copy.deletes.push_back(*deletes.files[place]);
      }
      file.snapshot_id = entry.snapshot_id.value_or(manifest.manifest.added_snapshot_id);
      file.sequence_number = data.sequence_number;
      file.file_sequence_number =
          entry.file_sequence_number.value_or(manifest.manifest.sequence_number);
      file.name = name_of(file.copy, columns);
      // Not ".parquet": DuckLake's own clean-up takes such files for orphans.
      file.copy.location = fmt::format("{}/data/{}", folder, file.name);
      files.push_back(std::move(file));
    }
  }
  return files;
}

}  // namespace lake::masked
