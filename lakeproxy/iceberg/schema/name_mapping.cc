#include "lakeproxy/iceberg/schema/name_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json/fields.h"
#include "base/json/json.h"

namespace lake::model {
namespace {

using base::ErrorKind;
using base::json::Fields;

base::Result<NameMapping> level_from_json(const base::json::Array& array, const std::string& path) {
  NameMapping level;
  std::set<std::string> names;
  for (const base::json::Value& value : array) {
    ASSIGN_OR_RETURN(Fields json, Fields::of(value, fmt::format("{}[{}]", path, level.size())));
    MappedField field;
    ASSIGN_OR_RETURN(field.id, json.opt_int32("field-id"));
    ASSIGN_OR_RETURN(field.names, json.strings("names"));
    for (const std::string& name : field.names) {
      if (names.insert(name).second) continue;
      return base::fail(ErrorKind::kInvalid,
                        fmt::format("{}: '{}' stands twice at this level", path, name));
    }
    ASSIGN_OR_RETURN(const base::json::Array* below, json.opt_array("fields"));
    if (below != nullptr) {
      ASSIGN_OR_RETURN(field.fields, level_from_json(*below, json.path_of("fields")));
    }
    level.push_back(std::move(field));
  }
  return level;
}

base::json::Array to_json(const NameMapping& level) {
  base::json::Array array;
  for (const MappedField& field : level) {
    base::json::Object object;
    if (field.id) object["field-id"] = *field.id;
    base::json::Array names;
    for (const std::string& name : field.names) names.emplace_back(name);
    object["names"] = std::move(names);
    if (!field.fields.empty()) object["fields"] = to_json(field.fields);
    array.emplace_back(std::move(object));
  }
  return array;
}

}  // namespace

base::Result<NameMapping> parse_name_mapping(std::string_view json) {
  const std::string path(kNameMappingProperty);
  auto value = base::json::parse(json);
  if (!value) return std::move(value).error().with_context(path);
  if (!value->is_array()) {
    return base::fail(ErrorKind::kInvalid, path + ": must be an array");
  }
  return level_from_json(value->as_array(), path);
}

std::string to_json_text(const NameMapping& mapping) { return base::json::write(to_json(mapping)); }

const MappedField* find_name(const NameMapping& level, std::string_view name) {
  auto found = std::ranges::find_if(level, [&](const MappedField& field) {
    return std::ranges::find(field.names, name) != field.names.end();
  });
  return found == level.end() ? nullptr : &*found;
}

}  // namespace lake::model
