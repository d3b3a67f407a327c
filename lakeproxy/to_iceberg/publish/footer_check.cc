#include "lakeproxy/to_iceberg/publish/footer_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/runtime/gather.h"
#include "lakeproxy/to_iceberg/snapshot/shown_snapshots.h"

namespace lake::publish {
namespace {

using base::ErrorKind;
using model::LakeDataFile;
using model::LakeTable;

constexpr base::AtOnce kFootersAtOnce{8};

using Files = std::map<std::string, const LakeDataFile*>;

// One of the rows that an object has is enough: they share their names.
Files new_files(const model::LakeChanges& changes) {
  Files files;
  for (const auto& [id, file] : changes.data_files) {
    if (file.mapping_id && !materialize::shown_before(changes, file.begin)) {
      files.emplace(file.path, &file);
    }
  }
  return files;
}

bool holds_no_null(const LakeDataFile& file, model::FieldId column) {
  auto stats = std::ranges::find(file.stats, column, &model::LakeColumnStats::column_id);
  return stats != file.stats.end() && stats->null_count == 0;
}

// DuckDB adds a file with NULLs to a column that is NOT NULL. Iceberg's readers do not
// expect them there: a filter for NULL finds none of the rows, one for others all.
// A client that commits a file vouches for it.
base::Status check_required(const model::Schema& schema, const model::LakeNameMap& names,
                            const LakeDataFile& file) {
  if (file.iceberg) return {};
  for (const model::Field& field : schema.fields) {
    if (!field.required) continue;
    auto named = names.columns.find(field.id);
    const bool in_path = named != names.columns.end() && named->second.in_path;
    if (in_path || (named != names.columns.end() && holds_no_null(file, field.id))) continue;
    return base::fail(
        ErrorKind::kUnsupported,
        fmt::format("the added file {}: column '{}' is NOT NULL, and nothing says "
                    "that the file holds no NULL: write its rows anew, and expire the "
                    "snapshots that show it",
                    file.path, field.name));
  }
  return {};
}

base::Result<exporter::MappedFile> as_mapped(const LakeTable& table,
                                             const model::NameMapping& names,
                                             const LakeDataFile& file) {
  auto map = table.name_maps.find(*file.mapping_id);
  auto then = table.schema_at.upper_bound(file.begin);
  if (map == table.name_maps.end() || then == table.schema_at.begin()) {
    return base::fail(ErrorKind::kCorrupt,
                      fmt::format("the lake has no names for the columns of {}", file.path));
  }
  const model::Schema* schema = table.metadata.find_schema(std::prev(then)->second);
  if (schema != nullptr) RETURN_IF_ERROR(check_required(*schema, map->second, file));
  return exporter::MappedFile{
      file.path, file.file_size_bytes, {&map->second, &names, &table.metadata.schemas, schema}};
}

base::Task<base::Status> check_files(base::RequestContext context, exporter::Exporter* exporter,
                                     const LakeTable* table, Files files) {
  const auto& properties = table->metadata.properties;
  auto text = properties.find(std::string(model::kNameMappingProperty));
  CO_ASSIGN_OR_RETURN(auto names,
                      model::parse_name_mapping(text == properties.end() ? "[]" : text->second));
  std::vector<exporter::MappedFile> wanted;
  for (const auto& [path, file] : files) {
    CO_ASSIGN_OR_RETURN(auto mapped, as_mapped(*table, names, *file));
    wanted.push_back(std::move(mapped));
  }
  auto check = [&](std::size_t i) { return exporter->check_mapped_file(context, &wanted[i]); };
  auto checked = co_await base::gather_few(kFootersAtOnce, wanted.size(), check);
  if (!checked) co_return std::move(checked).error().with_context("table " + table->name);
  co_return base::Status{};
}

}  // namespace

base::Task<base::Status> check_footers(base::RequestContext context, exporter::Exporter* exporter,
                                       const LakeTable* table, const model::LakeChanges* changes) {
  Files files = new_files(*changes);
  if (files.empty()) co_return base::Status{};
  co_return co_await check_files(context, exporter, table, std::move(files));
}

}  // namespace lake::publish
