#include "lakeproxy/to_iceberg/definition/schema_extras.h"

#include <algorithm>

#include "lakeproxy/mapping/type_mapping.h"

namespace lake::ducklake {
namespace {

using model::Field;
using model::FieldId;
using model::Schema;
using model::Type;
using model::TypeKind;

// DuckDB knows of no length, and takes any bytes for the default of such a column.
void drop_misfit(const Type& type, std::optional<model::Literal>& value) {
  if (type.kind() != TypeKind::kFixed || !value) return;
  const auto* bytes = std::get_if<model::Bytes>(&*value);
  const auto length = static_cast<std::size_t>(type.length());
  if (bytes == nullptr || bytes->value.size() != length) value.reset();
}

// DuckDB may have made another type of it.
bool can_identify(const Type& type) {
  return type.is_primitive() && type.kind() != TypeKind::kFloat &&
         type.kind() != TypeKind::kDouble && type.kind() != TypeKind::kVariant;
}

class Extras {
 public:
  Extras(const Schema& before, const std::set<FieldId>& documented)
      : before_(before), documented_(documented) {}

  [[nodiscard]] Field field(const Field& held) const {
    Field out = held;
    const Field* old = before_.find(held.id);
    if (!held.type.is_primitive()) {
      out.type = nested(held.type);
    } else if (old != nullptr && can_stand_for(held.type, old->type)) {
      out.type = old->type;
      drop_misfit(out.type, out.initial_default);
      drop_misfit(out.type, out.write_default);
    }
    if (old != nullptr && !documented_.contains(held.id)) out.doc = old->doc;
    return out;
  }

 private:
  [[nodiscard]] Type nested(const Type& type) const {
    std::vector<Field> parts;
    for (const Field& part : type.children()) {
      parts.push_back(field(part));
      const Field* old = before_.find(part.id);
      parts.back().required = old != nullptr && old->required;
    }
    switch (type.kind()) {
      case TypeKind::kList: return Type::list(parts[0].id, parts[0].type, parts[0].required);
      case TypeKind::kMap:
        return Type::map(parts[0].id, parts[0].type, parts[1].id, parts[1].type, parts[1].required);
      default: return Type::structure(std::move(parts));
    }
  }

  const Schema& before_;
  const std::set<FieldId>& documented_;
};

}  // namespace

bool same_lake_columns(const std::vector<Field>& lake, const std::vector<Field>& client) {
  return std::ranges::equal(lake, client, [](const Field& held, const Field& given) {
    return held.id == given.id && held.name == given.name && can_stand_for(held.type, given.type) &&
           same_lake_columns(held.type.children(), given.type.children());
  });
}

void take_over_extras(Schema& schema, const Schema& before, const std::set<FieldId>& documented) {
  const Extras extras(before, documented);
  for (Field& field : schema.fields) field = extras.field(field);
  for (FieldId id : before.identifier_field_ids) {
    const Field* field = schema.find(id);
    if (field != nullptr && field->required && can_identify(field->type)) {
      schema.identifier_field_ids.push_back(id);
    }
  }
}

}  // namespace lake::ducklake
