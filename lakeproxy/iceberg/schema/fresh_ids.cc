#include <unordered_map>

#include "lakeproxy/iceberg/schema/schema.h"

namespace lake::model {
namespace {

/// Numbers fields level by level and remembers what each old id became.
class Numbering {
 public:
  explicit Numbering(FieldId first) : next_(first) {}

  /// All fields of one level get their ids before any of their children.
  std::vector<Field> number(const std::vector<Field>& fields) {
    std::vector<Field> fresh = fields;
    for (Field& field : fresh) {
      fresh_of_.emplace(field.id, next_);
      field.id = next_++;
    }
    for (Field& field : fresh) field.type = number(field.type);
    return fresh;
  }

  [[nodiscard]] const std::unordered_map<FieldId, FieldId>& fresh_of() const { return fresh_of_; }

 private:
  Type number(const Type& type) {
    if (type.is_primitive()) return type;
    std::vector<Field> children = number(type.children());
    switch (type.kind()) {
      case TypeKind::kList:
        return Type::list(children[0].id, children[0].type, children[0].required);
      case TypeKind::kMap:
        return Type::map(children[0].id, children[0].type, children[1].id, children[1].type,
                         children[1].required);
      default: return Type::structure(std::move(children));
    }
  }

  FieldId next_;
  std::unordered_map<FieldId, FieldId> fresh_of_;
};

}  // namespace

Schema with_fresh_ids(const Schema& schema, FieldId first) {
  Numbering numbering(first);
  Schema fresh{.schema_id = schema.schema_id,
               .fields = numbering.number(schema.fields),
               .identifier_field_ids = {}};
  for (const FieldId id : schema.identifier_field_ids) {
    const auto found = numbering.fresh_of().find(id);
    if (found != numbering.fresh_of().end()) fresh.identifier_field_ids.push_back(found->second);
  }
  return fresh;
}

}  // namespace lake::model
