#include "lakeproxy/to_iceberg/definition/name_maps.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
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

// What a name means at its level is what it meant in the first file: that may be shown as it is
// already.
class FirstMeanings {
 public:
  explicit FirstMeanings(const Places& places) : places_(places) {}

  void take(const model::LakeNameMap& map) {
    for (const auto& [field, column] : map.columns) {
      auto place = places_.find(field);
      if (place == places_.end() || column.in_path) continue;
      const std::string& name = place->second.fixed_name.value_or(column.name);
      const bool is_new = taken_.emplace(place->second.parent, name).second;
      if (is_new) names_[field].push_back(name);
    }
  }
  [[nodiscard]] const Names& names() const { return names_; }

 private:
  const Places& places_;
  std::set<std::pair<std::optional<FieldId>, std::string>> taken_;
  Names names_;
};

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

model::NameMapping name_mapping_of(const std::map<std::int64_t, model::LakeNameMap>& maps,
                                   const std::vector<model::Schema>& schemas) {
  Places places;
  for (const model::Schema& schema : schemas) {
    find_places(schema.fields, std::nullopt, false, places);
  }
  FirstMeanings meanings(places);
  for (const auto& [id, map] : maps) meanings.take(map);
  return level_of(std::nullopt, meanings.names(), places);
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
