#include "lakeproxy/from_iceberg/files/added_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/runtime/gather.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/mapping/lake_text.h"
#include "lakeproxy/mapping/path_values.h"

namespace lake::operation {
namespace {

using base::ErrorKind;
using model::LakeNameMap;
using Names = std::optional<LakeNameMap>;

constexpr base::AtOnce kFootersAtOnce{16};

std::vector<std::string> names_of(const model::Field& column, const model::NameMapping& mapping) {
  std::vector<std::string> names{column.name};
  for (const model::MappedField& field : mapping) {
    if (field.id == column.id) names.insert(names.end(), field.names.begin(), field.names.end());
  }
  return names;
}

bool says(std::string_view text, const model::Field& column,
          const std::optional<model::Literal>& value) {
  if (text == model::kNullInPath) return !value;
  // DuckDB takes these for null in some types.
  const bool unclear = text.empty() || text == "NULL" || text == "null";
  if (!value || unclear) return false;
  auto said = model::parse_lake_text(column.type, text);
  return said && *said == *value;
}

base::Error refused(const ducklake::AddedFile& added, const base::Error& why) {
  return base::fail(why.kind(), fmt::format("{}: {}", added.file.file_path, why.message()));
}

// A column that the file does not hold and its partition says stands in the path,
// or DuckDB does not find it.
base::Status add_columns_of_path(const model::TableMetadata& metadata,
                                 const model::NameMapping& mapping,
                                 const ducklake::AddedFile& added, LakeNameMap& names) {
  const model::PartitionSpec* spec = metadata.find_spec(added.spec_id);
  if (spec == nullptr) return {};
  const model::PartitionTuple& tuple = added.file.partition;
  for (std::size_t i = 0; i < spec->fields.size() && i < tuple.size(); ++i) {
    const model::PartitionField& field = spec->fields[i];
    if (field.transform.kind != model::TransformKind::kIdentity) continue;
    const model::Field* source = metadata.current_schema().find(field.source_id);
    if (source == nullptr || names.columns.contains(source->id)) continue;
    auto name = name_in_path(added.file.file_path, *source, mapping, tuple[i]);
    if (!name) {
      return base::fail(ErrorKind::kUnsupported,
                        fmt::format("the value of column '{}' is its partition's alone, and its "
                                    "path does not say it",
                                    source->name));
    }
    names.columns[source->id] = {*name, true};
  }
  return {};
}

// A file without field ids has names.
base::Task<base::Result<Names>> read_names(base::RequestContext context,
                                           exporter::Exporter* exporter, storage::Location prefix,
                                           const ducklake::AddedFile* added,
                                           const model::NameMapping* mapping,
                                           const model::TableMetadata* metadata) {
  auto names =
      co_await exporter->names_in_file(context, std::move(prefix), &added->file, mapping, metadata);
  if (!names) co_return refused(*added, names.error());
  co_return names;
}

}  // namespace

std::optional<std::string> name_in_path(std::string_view path, const model::Field& column,
                                        const model::NameMapping& mapping,
                                        const std::optional<model::Literal>& value) {
  const auto names = names_of(column, mapping);
  for (const model::PathValue& said : model::values_in_path(path)) {
    auto name = std::ranges::find(names, said.name);
    if (name == names.end()) continue;
    if (!says(said.text, column, value)) return std::nullopt;
    return *name;
  }
  return std::nullopt;
}

base::Task<base::Status> name_columns(base::RequestContext context, Catalog* catalog,
                                      const model::TableMetadata* metadata,
                                      std::vector<ducklake::AddedFile*> files) {
  auto property = metadata->properties.find(std::string(model::kNameMappingProperty));
  if (property == metadata->properties.end()) co_return base::Status{};
  CO_ASSIGN_OR_RETURN(auto mapping, model::parse_name_mapping(property->second));
  CO_ASSIGN_OR_RETURN(auto prefix, storage::Location::parse(catalog->lake.data_path));
  auto read = [&](std::size_t i) {
    return read_names(context, catalog->exporter, prefix, files[i], &mapping, metadata);
  };
  auto keep = [&](std::size_t i, Names names) -> base::Status {
    if (!names) return {};
    auto done = add_columns_of_path(*metadata, mapping, *files[i], *names);
    if (!done) return refused(*files[i], done.error());
    files[i]->names = std::move(*names);
    return {};
  };
  co_return co_await base::gather_few(kFootersAtOnce, files.size(), read, keep);
}

}  // namespace lake::operation
