#include "lakeproxy/operation/commit/added_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/runtime/gather.h"
#include "lakeproxy/export/exporter.h"
#include "lakeproxy/model/schema/name_mapping.h"
#include "lakeproxy/operation/commit/path_values.h"

namespace lake::operation {
namespace {

using base::ErrorKind;
using model::LakeNameMap;
using Names = std::optional<LakeNameMap>;

constexpr std::size_t kLooksAtOnce = 16;

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

}  // namespace

base::Task<base::Status> name_columns(base::RequestContext context, Catalog* catalog,
                                      const model::TableMetadata* metadata,
                                      std::vector<ducklake::AddedFile*> files) {
  auto property = metadata->properties.find(std::string(model::kNameMappingProperty));
  if (property == metadata->properties.end()) co_return base::Status{};
  CO_ASSIGN_OR_RETURN(auto mapping, model::parse_name_mapping(property->second));
  CO_ASSIGN_OR_RETURN(auto prefix, objects::Location::parse(catalog->lake.data_path));
  for (std::size_t begin = 0; begin < files.size(); begin += kLooksAtOnce) {
    const std::size_t end = std::min(begin + kLooksAtOnce, files.size());
    std::vector<base::Task<base::Result<Names>>> looks;
    for (std::size_t i = begin; i < end; ++i) {
      looks.push_back(
          catalog->exporter->names_in_file(context, prefix, &files[i]->file, &mapping, metadata));
    }
    auto found = co_await base::gather(std::move(looks));
    for (std::size_t i = begin; i < end; ++i) {
      Names* names = found[i - begin] ? &*found[i - begin] : nullptr;
      if (names == nullptr) co_return refused(*files[i], found[i - begin].error());
      if (!*names) continue;
      auto done = add_columns_of_path(*metadata, mapping, *files[i], **names);
      if (!done) co_return refused(*files[i], done.error());
      files[i]->names = std::move(**names);
    }
  }
  co_return base::Status{};
}

}  // namespace lake::operation
