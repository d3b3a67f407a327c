#include "lakeproxy/from_iceberg/deletes/equality_deletes.h"

#include <map>

#include "lakeproxy/from_iceberg/files/file_places.h"

namespace lake::operation {
namespace {

constexpr std::size_t kMostFiles = 500'000;

// Values that a file may leave out because its place in the table says them.
std::map<model::FieldId, std::optional<model::Literal>> constants_of(
    const model::PartitionSpec* spec, const model::PartitionTuple& tuple) {
  std::map<model::FieldId, std::optional<model::Literal>> constants;
  if (spec == nullptr) return constants;
  for (std::size_t i = 0; i < spec->fields.size() && i < tuple.size(); ++i) {
    const model::PartitionField& field = spec->fields[i];
    if (field.transform.kind == model::TransformKind::kIdentity) {
      constants.emplace(field.source_id, tuple[i]);
    }
  }
  return constants;
}

// Indexes of the deletes that apply to a file of `spec_id` and `tuple`.
std::vector<std::size_t> applying(const model::TableMetadata& metadata,
                                  const std::vector<ducklake::AddedFile>& deletes,
                                  std::int32_t spec_id, const model::PartitionTuple& tuple) {
  std::vector<std::size_t> indexes;
  for (std::size_t i = 0; i < deletes.size(); ++i) {
    const model::PartitionSpec* spec = metadata.find_spec(deletes[i].spec_id);
    const bool everywhere = spec != nullptr && spec->is_unpartitioned();
    if (everywhere || (deletes[i].spec_id == spec_id && deletes[i].file.partition == tuple)) {
      indexes.push_back(i);
    }
  }
  return indexes;
}

}  // namespace

std::optional<model::NameMapping> mapping_of(const model::TableMetadata& metadata) {
  auto text = metadata.properties.find(std::string(model::kNameMappingProperty));
  if (text == metadata.properties.end()) return std::nullopt;
  auto names = model::parse_name_mapping(text->second);
  if (!names) return std::nullopt;
  return std::move(*names);
}

exporter::Candidate candidate_of(const model::TableMetadata& metadata,
                                 const std::vector<ducklake::AddedFile>& deletes,
                                 const ducklake::AddedFile& data_file) {
  const model::DataFile& file = data_file.file;
  return {file, std::nullopt, constants_of(metadata.find_spec(data_file.spec_id), file.partition),
          applying(metadata, deletes, data_file.spec_id, file.partition)};
}

base::Task<base::Result<exporter::EqualitySearch>> equality_search(
    base::RequestContext context, Catalog* catalog, const DeleteBase* base, const ListDiff* diff,
    std::vector<ducklake::AddedFile> deletes) {
  const model::TableMetadata* metadata = base->metadata;
  CO_ASSIGN_OR_RETURN(auto prefix, storage::Location::parse(catalog->lake.data_path));
  exporter::EqualitySearch search{std::move(prefix), metadata->current_schema(), {}, {}};
  for (const auto& file : deletes) search.deletes.push_back(file.file);
  const auto names = mapping_of(*metadata);
  std::map<std::string, std::size_t> gone;
  for (const auto& location : diff->removed) ++gone[location];
  for (const model::ManifestFile& manifest : *base->list) {
    if (manifest.content != model::ManifestContent::kData) continue;
    CO_ASSIGN_OR_RETURN(auto entries,
                        co_await catalog->manifests->entries(context, manifest.manifest_path));
    // In a list of the same commit a new spec has the id that the client gave it.
    auto assigned = base->spec_ids.find(manifest.partition_spec_id);
    const std::int32_t spec_id =
        assigned == base->spec_ids.end() ? manifest.partition_spec_id : assigned->second;
    for (const model::ManifestEntry& entry : *entries) {
      if (entry.status == model::EntryStatus::kDeleted) continue;
      const model::DataFile& file = entry.data_file;
      if (auto found = gone.find(file.file_path); found != gone.end() && found->second > 0) {
        --found->second;
        continue;
      }
      auto candidate = candidate_of(*metadata, deletes, {file, spec_id});
      if (candidate.deletes.empty()) continue;
      candidate.names = names;
      if (search.candidates.size() == kMostFiles) {
        co_return base::fail(base::ErrorKind::kTooLarge,
                             "add-snapshot: an equality delete applies to too many data files; "
                             "compact the table first");
      }
      search.candidates.push_back(std::move(candidate));
    }
  }
  std::vector<std::string> searched;
  for (const auto& candidate : search.candidates) searched.push_back(candidate.file.file_path);
  auto checked = co_await check_searched(context, catalog, base->table, metadata->location,
                                         std::move(searched));
  if (!checked) {
    co_return std::move(checked).error().with_context("add-snapshot: an equality delete applies");
  }
  co_return search;
}

}  // namespace lake::operation
