#include "lakeproxy/engine/parquet/mapped_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "lakeproxy/engine/parquet/reader_types.h"

namespace lake::exporter {
namespace {

using model::Field;
using model::FieldId;
using model::TypeKind;
using Parent = std::optional<FieldId>;

base::Error refused(const std::string& column, std::string_view why) {
  return base::fail(base::ErrorKind::kUnsupported, fmt::format("its column '{}' {}", column, why));
}

bool same_but_for_case(std::string_view a, std::string_view b) {
  auto lower = [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

bool is_one_of_two(const ParquetNode& parent, const ParquetNode& column) {
  return 1 < std::ranges::count_if(parent.children, [&](const ParquetNode& other) {
           return same_but_for_case(other.name, column.name);
         });
}

class Check {
 public:
  Check(const ParquetNode& root, const MappedColumns& columns)
      : columns_(columns), has_ids_(has_field_ids(root)) {
    for (const model::Schema& schema : *columns.schemas) take(schema.fields, std::nullopt);
    take(columns.then->fields, std::nullopt);
  }

  [[nodiscard]] base::Status group(const ParquetNode& node, Parent parent,
                                   const model::NameMapping& names, const std::string& path) const {
    for (const ParquetNode& column : node.children) {
      const std::string name = path.empty() ? column.name : path + "." + column.name;
      if (is_one_of_two(node, column)) return refused(name, "differs from another by case alone");
      const model::MappedField* mapped = model::find_name(names, column.name);
      const Field* field = duckdbs(column.name, parent);
      RETURN_IF_ERROR(same_field(column, mapped, field, name));
      // PyIceberg gives up on a file with a column that the mapping does not have.
      if (field == nullptr)
        return refused(name, "is none of the table's, which some readers refuse");
      RETURN_IF_ERROR(form(column, *field, below(mapped), name));
    }
    return {};
  }

 private:
  void take(const std::vector<Field>& fields, Parent parent) {
    for (const Field& field : fields) {
      fields_[parent].insert_or_assign(field.id, &field);
      if (!field.type.is_primitive()) take(field.type.children(), field.id);
    }
  }

  static const model::NameMapping& below(const model::MappedField* mapped) {
    static const model::NameMapping nothing;
    return mapped == nullptr ? nothing : mapped->fields;
  }

  // Where DuckDB finds a column of that name; null where it passes it over.
  [[nodiscard]] const Field* duckdbs(const std::string& name, Parent parent) const {
    auto level = fields_.find(parent);
    if (level == fields_.end()) return nullptr;
    for (const auto& [id, field] : level->second) {
      auto column = columns_.lake->columns.find(id);
      if (column == columns_.lake->columns.end() || column->second.in_path) continue;
      if (same_but_for_case(column->second.name, name)) return field;
    }
    return nullptr;
  }

  // Some readers go by the ids as soon as one column has one, others when all have.
  [[nodiscard]] base::Status same_field(const ParquetNode& column, const model::MappedField* mapped,
                                        const Field* field, const std::string& name) const {
    if (has_ids_ && !column.field_id) {
      return refused(name, "has no field id, and others have one");
    }
    const Parent found = has_ids_ ? column.field_id : (mapped ? mapped->id : std::nullopt);
    const Parent wanted = field != nullptr ? Parent(field->id) : std::nullopt;
    if (found == wanted) return {};
    const std::string_view by = has_ids_ ? "by its field id" : "by the names of other files";
    if (!wanted) return refused(name, fmt::format("is a column of the table {} alone", by));
    return refused(name, fmt::format("is another column of the table {} than by its name", by));
  }

  [[nodiscard]] base::Status form(const ParquetNode& node, const Field& field,
                                  const model::NameMapping& names, const std::string& name) const {
    if (node.repeated) return refused(name, "is repeated");
    switch (field.type.kind()) {
      case TypeKind::kStruct:
        if (node.shape != ParquetShape::kStruct) return refused(name, "is not a struct");
        return group(node, field.id, names, name);
      case TypeKind::kList: return parts(node, ParquetShape::kList, field, names, name);
      case TypeKind::kMap: return parts(node, ParquetShape::kMap, field, names, name);
      default: break;
    }
    if (node.shape == ParquetShape::kLeaf && is_read_alike(node, field.type)) return {};
    return refused(name, fmt::format("of type {} is not read as {} by every reader",
                                     node.engine_type, field.type.to_string()));
  }

  // The parts of a list or map stand below a repeated group, in the type's order.
  [[nodiscard]] base::Status parts(const ParquetNode& node, ParquetShape shape, const Field& field,
                                   const model::NameMapping& names, const std::string& name) const {
    const auto& wanted = field.type.children();
    const bool usual = node.shape == shape && node.children.size() == 1 &&
                       node.children[0].repeated && is_wrapper(node.children[0], node.name) &&
                       node.children[0].children.size() == wanted.size();
    if (!usual) return refused(name, "is a list or map in a form that is older than the usual one");
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const ParquetNode& part = node.children[0].children[i];
      const std::string part_name = name + "." + wanted[i].name;
      const model::MappedField* mapped = model::find_name(names, wanted[i].name);
      RETURN_IF_ERROR(same_field(part, mapped, &wanted[i], part_name));
      RETURN_IF_ERROR(form(part, wanted[i], below(mapped), part_name));
    }
    return {};
  }

  // Groups of these names are elements themselves, by the rules for older files.
  static bool is_wrapper(const ParquetNode& group, const std::string& of) {
    return group.name != "array" && group.name != of + "_tuple";
  }

  const MappedColumns& columns_;
  bool has_ids_;
  std::map<Parent, std::map<FieldId, const Field*>> fields_;
};

void add_names(const ParquetNode& node, const model::NameMapping& level, model::LakeNameMap& map);

void add_column(const ParquetNode& column, const model::MappedField& mapped,
                const std::string& name, model::LakeNameMap& map) {
  if (mapped.id) map.columns[*mapped.id] = {name};
  if (column.shape == ParquetShape::kStruct) return add_names(column, mapped.fields, map);
  if (column.shape == ParquetShape::kLeaf || column.children.size() != 1) return;
  // DuckLake calls the element of a list so.
  const auto parts =
      column.shape == ParquetShape::kList
          ? std::vector<std::pair<const char*, const char*>>{{"element", "list"}}
          : std::vector<std::pair<const char*, const char*>>{{"key", "key"}, {"value", "value"}};
  const auto& group = column.children[0].children;
  for (std::size_t i = 0; i < std::min(parts.size(), group.size()); ++i) {
    const model::MappedField* part = model::find_name(mapped.fields, parts[i].first);
    if (part != nullptr) add_column(group[i], *part, parts[i].second, map);
  }
}

void add_names(const ParquetNode& node, const model::NameMapping& level, model::LakeNameMap& map) {
  for (const ParquetNode& column : node.children) {
    const model::MappedField* mapped = model::find_name(level, column.name);
    if (mapped != nullptr) add_column(column, *mapped, column.name, map);
  }
}

}  // namespace

model::LakeNameMap names_of_columns(const ParquetNode& root, const model::NameMapping& mapping) {
  model::LakeNameMap map;
  add_names(root, mapping, map);
  return map;
}

base::Status check_columns(const ParquetNode& root, const MappedColumns& columns) {
  return Check(root, columns).group(root, std::nullopt, *columns.iceberg, "");
}

}  // namespace lake::exporter
