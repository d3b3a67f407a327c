#pragma once

// Files that nobody wrote for the table have no field ids: their columns are
// found by the names that a property of the table lists.
// Source: Iceberg table specification, "Column Projection", "Name Mapping
// Serialization".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "lakeproxy/model/ids.h"

namespace lake::model {

/// The table property that holds the mapping.
inline constexpr std::string_view kNameMappingProperty = "schema.name-mapping.default";

/// A column of a file without field ids, by the names that it may have there.
struct MappedField {
  std::optional<FieldId> id;  ///< Absent: the names stand for no field.
  std::vector<std::string> names;
  /// Of a struct; "element" of a list, "key" and "value" of a map.
  std::vector<MappedField> fields;

  friend bool operator==(const MappedField&, const MappedField&) = default;
};
using NameMapping = std::vector<MappedField>;

/// Errors: kInvalid  not a name mapping, or a name stands twice among the fields
///         of one level; kTooLarge  over a limit of JSON.
[[nodiscard]] base::Result<NameMapping> parse_name_mapping(std::string_view json);

/// As the property holds it.
[[nodiscard]] std::string to_json_text(const NameMapping& mapping);

/// The field that `name` stands for at this level; null when it stands for none.
[[nodiscard]] const MappedField* find_name(const NameMapping& level, std::string_view name);

}  // namespace lake::model
