#include "lakeproxy/derive/readable/added_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <string>
#include <utility>

namespace lake::exporter {
namespace {

using model::CopiedColumn;
using model::Field;
using model::TypeKind;

base::Error refused(const std::string& column, std::string_view why) {
  return base::fail(base::ErrorKind::kUnsupported, fmt::format("its column '{}' {}", column, why));
}

bool has_zone(const model::Type& type) {
  return type.kind() == TypeKind::kTimestamptz || type.kind() == TypeKind::kTimestamptzNs;
}

class Keeping {
 public:
  Keeping(const model::LakeNameMap& names, std::vector<CopiedColumn>& columns)
      : names_(&names), columns_(&columns) {}

  // Leaves the children of `node` that are parts of a struct, or columns of the table.
  base::Status keep(const std::vector<Field>& fields, const std::string& path, ParquetNode& node) {
    std::vector<ParquetNode> kept;
    for (ParquetNode& child : node.children) {
      const Field* field = find(fields, child.name);
      if (field == nullptr) continue;
      const std::string name = path.empty() ? child.name : path + "." + child.name;
      if (1 < std::ranges::count_if(node.children, [&](const ParquetNode& other) {
            return boost::algorithm::iequals(other.name, child.name);
          })) {
        return refused(name, "differs from another by case alone");
      }
      RETURN_IF_ERROR(convert(*field, name, child));
    }
    for (ParquetNode& child : node.children) {
      if (find(fields, child.name) != nullptr) kept.push_back(std::move(child));
    }
    node.children = std::move(kept);
    return {};
  }

 private:
  // DuckDB finds names without regard to case.
  [[nodiscard]] const Field* find(const std::vector<Field>& fields, const std::string& name) const {
    for (const Field& field : fields) {
      auto named = names_->columns.find(field.id);
      if (named == names_->columns.end() || named->second.in_path) continue;
      if (boost::algorithm::iequals(named->second.name, name)) return &field;
    }
    return nullptr;
  }

  base::Status convert(const Field& field, const std::string& name, ParquetNode& node) {
    node.field_id = field.id;
    if (node.repeated) return refused(name, "is repeated");
    switch (field.type.kind()) {
      case TypeKind::kStruct:
        if (node.shape != ParquetShape::kStruct) return refused(name, "is not a struct");
        return keep(field.type.children(), name, node);
      case TypeKind::kList: return parts(ParquetShape::kList, field, name, node);
      case TypeKind::kMap: return parts(ParquetShape::kMap, field, name, node);
      case TypeKind::kVariant:
        if (!is_variant(node)) return refused(name, "is not a variant");
        return {};
      default: return leaf(field, name, node);
    }
  }

  // The parts of a list or map have their places, whatever they are called.
  base::Status parts(ParquetShape shape, const Field& field, const std::string& name,
                     ParquetNode& node) {
    const auto& wanted = field.type.children();
    const bool usual = node.shape == shape && node.children.size() == 1 &&
                       node.children[0].repeated && node.children[0].name != "array" &&
                       node.children[0].name != node.name + "_tuple" &&
                       node.children[0].children.size() == wanted.size();
    if (!usual) return refused(name, "is a list or map in a form that is older than the usual one");
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      RETURN_IF_ERROR(
          convert(wanted[i], name + "." + wanted[i].name, node.children[0].children[i]));
    }
    return {};
  }

  base::Status leaf(const Field& field, const std::string& name, const ParquetNode& node) {
    if (node.shape != ParquetShape::kLeaf)
      return refused(name, "is nested, and the table's is not");
    // What the engine makes of it depends on where its user is.
    if (node.engine_type.ends_with("WITH TIME ZONE") != has_zone(field.type)) {
      return refused(name, "has a time zone in the file alone, or in the table alone");
    }
    if (std::ranges::find(*columns_, field.id, &CopiedColumn::id) != columns_->end()) return {};
    const bool is_interval = node.engine_type == "INTERVAL";
    columns_->push_back({field.id, is_interval ? "interval" : "", field.type, ""});
    return {};
  }

  const model::LakeNameMap* names_;
  std::vector<CopiedColumn>* columns_;
};

}  // namespace

bool is_variant(const ParquetNode& node) {
  return node.shape == ParquetShape::kStruct && !has_field_ids(node) &&
         std::ranges::any_of(node.children, [](const ParquetNode& part) {
           return part.name == "metadata" && part.physical_type == "BYTE_ARRAY";
         });
}

base::Status keep_added_columns(const model::AddedColumns& added, ParquetNode& root,
                                std::vector<CopiedColumn>& columns) {
  return Keeping(added.names, columns).keep(added.fields, "", root);
}

}  // namespace lake::exporter
