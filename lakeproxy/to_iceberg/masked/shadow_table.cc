#include "lakeproxy/to_iceberg/masked/shadow_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "lakeproxy/to_iceberg/masked/mask_marks.h"
#include "lakeproxy/to_iceberg/snapshot/snapshot_objects.h"

namespace lake::masked {
namespace {

using materialize::ListedManifest;
using model::Field;
using model::ManifestEntry;
using policy::ColumnMask;

constexpr std::int32_t kSpecId = 0;
constexpr std::size_t kEntriesOfManifest = 8000;

const ColumnMask* mask_of(const policy::MaskPlan& plan, model::FieldId id) {
  auto found = std::ranges::find(plan.masks, id, &ColumnMask::field);
  return found == plan.masks.end() ? nullptr : &*found;
}

void without_defaults(Field& field) {
  field.initial_default.reset();
  field.write_default.reset();
}

// A mask may give NULL for any value. Copies hold each column, so that no reader needs a default.
model::Schema masked_schema(const model::Schema& schema, const policy::MaskPlan& plan) {
  model::Schema masked = schema;
  for (Field& field : masked.fields) {
    without_defaults(field);
    const ColumnMask* mask = mask_of(plan, field.id);
    if (mask == nullptr) continue;
    field.required = false;
    note_mask(*mask, field);
    std::erase(masked.identifier_field_ids, field.id);
  }
  return masked;
}

std::map<std::string, std::string> masked_properties(std::map<std::string, std::string> all,
                                                     const policy::MaskPlan& plan) {
  // It maps names of files that are not shown.
  all.erase("schema.name-mapping.default");
  tell_masks(plan, all);
  return all;
}

base::Result<std::vector<ManifestEntry>> entries_of(const std::vector<FileToMask>& files,
                                                    const MadeCopies& made) {
  std::vector<ManifestEntry> entries;
  for (const FileToMask& file : files) {
    auto copy = made.find(file.name);
    if (copy == made.end()) return base::fail(base::ErrorKind::kInternal, "a copy is not there");
    for (const exporter::MaskedPart& part : copy->second) {
      if (part.record_count == 0) continue;
      ManifestEntry entry{.status = model::EntryStatus::kExisting,
                          .snapshot_id = file.snapshot_id,
                          .sequence_number = file.sequence_number,
                          .file_sequence_number = file.file_sequence_number};
      entry.data_file.file_path = part.location;
      entry.data_file.record_count = part.record_count;
      entry.data_file.file_size_in_bytes = part.file_size_bytes;
      // Of all parts: the ids of rows are columns of the copies.
      entry.data_file.first_row_id = file.copy.source.first_row_id;
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

std::map<std::string, std::string> totals(const std::vector<ManifestEntry>& entries) {
  std::int64_t rows = 0;
  std::int64_t bytes = 0;
  for (const ManifestEntry& entry : entries) {
    rows += entry.data_file.record_count;
    bytes += entry.data_file.file_size_in_bytes;
  }
  return {{"total-data-files", fmt::to_string(entries.size())},
          {"total-records", fmt::to_string(rows)},
          {"total-files-size", fmt::to_string(bytes)},
          {"total-delete-files", "0"},
          {"total-position-deletes", "0"},
          {"total-equality-deletes", "0"}};
}

// What the builder of objects and of answers takes: the lake's table without its history.
model::LakeTable shadow_of(const publish::LoadedTable& base, const policy::MaskPlan& plan) {
  model::LakeTable table;
  table.table_id = base.table.table_id;
  table.namespace_id = base.table.namespace_id;
  table.name = base.table.name;
  table.version = base.table.version;
  table.created = base.table.created;
  table.metadata = shadow_metadata(base.metadata, plan);
  table.metadata_sequence = std::max<std::int64_t>(0, base.metadata_sequence - 1);
  return table;
}

base::Result<std::string> write_objects(const model::LakeTable& table, model::Snapshot& snapshot,
                                        std::vector<ManifestEntry> entries,
                                        materialize::ManifestHeaders* headers,
                                        std::vector<materialize::NewObject>& objects) {
  materialize::SnapshotObjects writer(table, snapshot, headers);
  std::vector<ListedManifest> list;
  for (std::size_t begin = 0; begin < entries.size(); begin += kEntriesOfManifest) {
    const std::size_t end = std::min(entries.size(), begin + kEntriesOfManifest);
    auto at = [&](std::size_t i) { return entries.begin() + static_cast<std::ptrdiff_t>(i); };
    ASSIGN_OR_RETURN(ListedManifest one,
                     writer.write(kSpecId, model::ManifestContent::kData, {at(begin), at(end)}));
    list.push_back(std::move(one));
  }
  ASSIGN_OR_RETURN(std::string location, writer.write_list(list));
  objects = std::move(writer).take();
  return location;
}

}  // namespace

model::TableMetadata shadow_metadata(const model::TableMetadata& metadata,
                                     const policy::MaskPlan& plan) {
  model::TableMetadata shadow;
  shadow.format_version = metadata.format_version;
  shadow.table_uuid = metadata.table_uuid;
  shadow.location = masked_folder(metadata.location, plan.signature);
  shadow.last_sequence_number = metadata.last_sequence_number;
  shadow.last_updated_ms = metadata.last_updated_ms;
  shadow.last_column_id = metadata.last_column_id;
  shadow.schemas = {masked_schema(metadata.current_schema(), plan)};
  shadow.current_schema_id = metadata.current_schema_id;
  shadow.partition_specs = {{kSpecId, {}}};
  shadow.default_spec_id = kSpecId;
  shadow.properties = masked_properties(metadata.properties, plan);
  shadow.sort_orders = {{}};
  shadow.next_row_id = metadata.next_row_id;
  return shadow;
}

base::Result<ShadowTable> shadow_table(const publish::LoadedTable& base,
                                       const policy::MaskPlan& plan,
                                       const std::vector<FileToMask>& files, const MadeCopies& made,
                                       materialize::ManifestHeaders* headers) {
  ShadowTable shadow;
  model::LakeTable table = shadow_of(base, plan);
  if (const model::Snapshot* newest = base.metadata.current_snapshot()) {
    ASSIGN_OR_RETURN(auto entries, entries_of(files, made));
    model::Snapshot snapshot{.snapshot_id = newest->snapshot_id,
                             .sequence_number = newest->sequence_number,
                             .timestamp_ms = newest->timestamp_ms,
                             .operation = newest->operation,
                             .summary = totals(entries),
                             .schema_id = table.metadata.current_schema_id,
                             .first_row_id = newest->first_row_id,
                             .added_rows = newest->added_rows};
    ASSIGN_OR_RETURN(snapshot.manifest_list,
                     write_objects(table, snapshot, std::move(entries), headers, shadow.objects));
    for (const auto& [alias, id] : base.table.aliases) {
      if (id == newest->snapshot_id) table.aliases.emplace(alias, id);
    }
    table.materialized.push_back(std::move(snapshot));
  }
  shadow.loaded = publish::make_loaded_table(std::move(table), nullptr);
  shadow.objects.push_back({shadow.loaded->metadata_location,
                            std::string(shadow.loaded->document()),
                            shadow.loaded->document_sha256});
  return shadow;
}

}  // namespace lake::masked
