#include "lakeproxy/to_iceberg/definition/name_maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

namespace lake::ducklake {
namespace {

using model::Field;
using model::FieldId;
using model::MappedField;
using model::TypeKind;

// Where a field stands. The parts of lists and maps have one name everywhere:
// readers call them so, whatever the file does.
struct Place {
  std::optional<FieldId> parent;
  std::optional<std::string> fixed_name;
};
using Places = std::map<FieldId, Place>;

void find_places(const std::vector<Field>& fields, std::optional<FieldId> parent, bool fixed,
                 Places& places) {
  for (const Field& field : fields) {
    places.insert_or_assign(field.id,
                            Place{parent, fixed ? std::optional(field.name) : std::nullopt});
    if (field.type.is_primitive()) continue;
    find_places(field.type.children(), field.id, field.type.kind() != TypeKind::kStruct, places);
  }
}

using Names = std::map<FieldId, std::vector<std::string>>;

Names names_of(const std::map<std::int64_t, model::LakeNameMap>& maps, const Places& places) {
  Names names;
  for (const auto& [id, map] : maps) {
    for (const auto& [field, column] : map.columns) {
      auto place = places.find(field);
      if (place == places.end() || column.in_path) continue;
      const std::string& name = place->second.fixed_name.value_or(column.name);
      auto& known = names[field];
      if (std::ranges::find(known, name) == known.end()) known.push_back(name);
    }
  }
  return names;
}

base::Status check_names(const Names& names, const Places& places) {
  std::map<std::pair<std::optional<FieldId>, std::string>, FieldId> taken;
  for (const auto& [field, known] : names) {
    for (const std::string& name : known) {
      auto [before, added] = taken.try_emplace({places.at(field).parent, name}, field);
      if (added) continue;
      return base::fail(
          base::ErrorKind::kUnsupported,
          fmt::format("files without field ids were added in which '{}' is the column with field "
                      "id {} and others in which it is the one with {}; no name mapping can say "
                      "both: write the rows of one of them anew and expire its snapshots",
                      name, before->second, field));
    }
  }
  return {};
}

model::NameMapping level_of(std::optional<FieldId> parent, const Names& names,
                            const Places& places) {
  model::NameMapping level;
  for (const auto& [field, known] : names) {
    if (places.at(field).parent != parent) continue;
    level.push_back({field, known, level_of(field, names, places)});
  }
  return level;
}

}  // namespace

base::Result<model::NameMapping> name_mapping_of(
    const std::map<std::int64_t, model::LakeNameMap>& maps,
    const std::vector<model::Schema>& schemas) {
  Places places;
  for (const model::Schema& schema : schemas) {
    find_places(schema.fields, std::nullopt, false, places);
  }
  const Names names = names_of(maps, places);
  RETURN_IF_ERROR(check_names(names, places));
  return level_of(std::nullopt, names, places);
}

void add_names(const model::NameMapping& more, model::NameMapping& mapping) {
  for (const MappedField& field : more) {
    std::vector<std::string> names;
    std::ranges::copy_if(field.names, std::back_inserter(names), [&](const std::string& name) {
      return model::find_name(mapping, name) == nullptr;
    });
    auto known = std::ranges::find_if(
        mapping, [&](const MappedField& held) { return field.id && held.id == field.id; });
    if (known == mapping.end()) {
      if (!names.empty()) mapping.push_back({field.id, std::move(names), field.fields});
      continue;
    }
    std::ranges::move(names, std::back_inserter(known->names));
    add_names(field.fields, known->fields);
  }
}

}  // namespace lake::ducklake
