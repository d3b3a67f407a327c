#include "lakeproxy/to_iceberg/definition/lake_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lakeproxy/iceberg/schema/literal_json.h"
#include "lakeproxy/mapping/default_text.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::fail;
using base::Result;
using model::Field;
using model::FieldId;
using model::Type;

constexpr int kMaxDepth = 64;
constexpr std::int32_t kLowestFormatVersion = 2;

// A list or map is nothing without each of its parts, a struct without any.
bool needs(LakeTypeShape shape, std::size_t parts_left) {
  return shape == LakeTypeShape::kStruct ? parts_left == 0 : shape != LakeTypeShape::kPrimitive;
}

// `left_out`, and the columns that cannot be without one of those.
std::set<FieldId> with_containers(const LakeColumns& columns, model::SnapshotId at,
                                  std::set<FieldId> left_out) {
  std::map<FieldId, std::vector<FieldId>> parts;
  std::vector<const LakeColumn*> shown;
  for (const LakeColumn& column : columns.columns) {
    if (!column.shown_at(at)) continue;
    shown.push_back(&column);
    if (column.parent) parts[*column.parent].push_back(column.id);
  }
  auto is_out = [&](FieldId id) { return left_out.contains(id); };
  for (bool grows = !left_out.empty(); grows;) {
    grows = false;
    for (const LakeColumn* column : shown) {
      const auto& own = parts[column->id];
      const auto gone = static_cast<std::size_t>(std::ranges::count_if(own, is_out));
      if (gone == 0 || is_out(column->id)) continue;
      if (!needs(shape_of(column->type), own.size() - gone)) continue;
      grows = left_out.insert(column->id).second;
    }
  }
  return left_out;
}

// Schemas are stored as JSON, so a value that its form cannot hold is none.
std::optional<model::Literal> default_of(const Type& type, const std::string& text) {
  auto value = parse_default(type, text);
  if (!value || !model::literal_from_json(model::to_json(*value, type), type, "default")) {
    return std::nullopt;
  }
  return value;
}

class FieldBuilder {
 public:
  FieldBuilder(const LakeColumns& columns, model::SnapshotId at, std::set<FieldId> given)
      : columns_(columns) {
    const std::set<FieldId> left_out = with_containers(columns, at, std::move(given));
    for (const LakeColumn& column : columns.columns) {
      if (column.shown_at(at) && !left_out.contains(column.id)) {
        parts_[column.parent.value_or(kTop)].push_back(&column);
      }
    }
    for (auto& [parent, parts] : parts_) {
      std::ranges::sort(parts, {}, [](const LakeColumn* c) { return std::pair(c->order, c->id); });
    }
    for (const LakeColumnDoc& doc : columns.docs) {
      if (doc.begin <= at && (!doc.end || at < *doc.end)) docs_[doc.column_id] = &doc.text;
    }
  }

  [[nodiscard]] Result<std::vector<Field>> top_level() const {
    ASSIGN_OR_RETURN(auto fields, fields_of(kTop, "", 0));
    for (Field& field : fields) field.required = !row_of(field.id).nulls_allowed;
    return fields;
  }

 private:
  // Column ids are positive.
  static constexpr FieldId kTop = 0;

  [[nodiscard]] Result<std::vector<Field>> fields_of(FieldId parent, const std::string& path,
                                                     int depth) const {
    std::vector<Field> fields;
    auto parts = parts_.find(parent);
    if (parts == parts_.end()) return fields;
    fields.reserve(parts->second.size());
    for (const LakeColumn* column : parts->second) {
      ASSIGN_OR_RETURN(Field field, field_of(*column, path, depth));
      fields.push_back(std::move(field));
    }
    return fields;
  }

  [[nodiscard]] Result<Field> field_of(const LakeColumn& column, const std::string& path,
                                       int depth) const {
    const std::string name = path.empty() ? column.name : path + "." + column.name;
    if (depth >= kMaxDepth) {
      return fail(ErrorKind::kCorrupt, fmt::format("column '{}' is nested too deep", name));
    }
    auto type = type_of(column, name, depth);
    if (!type) return std::move(type).error().with_context(fmt::format("column '{}'", name));
    Field field{.id = column.id, .name = column.name, .type = std::move(*type)};
    if (auto doc = docs_.find(column.id); doc != docs_.end()) field.doc = *doc->second;
    set_defaults(column, field);
    return field;
  }

  static void set_defaults(const LakeColumn& column, Field& field) {
    if (!field.type.is_primitive()) return;
    field.initial_default = initial_default(column, field.type);
    if (column.default_value) {
      field.write_default = default_of(field.type, *column.default_value);
    }
  }

  [[nodiscard]] Result<Type> type_of(const LakeColumn& column, const std::string& name,
                                     int depth) const {
    const LakeTypeShape shape = shape_of(column.type);
    if (shape == LakeTypeShape::kPrimitive) {
      return iceberg_type(column.type, columns_.shown_in());
    }
    auto parts = fields_of(column.id, name, depth + 1);
    if (!parts) return std::move(parts).error();
    std::vector<Field>& fields = *parts;
    if (shape == LakeTypeShape::kStruct) return Type::structure(std::move(fields));
    if (shape == LakeTypeShape::kList && fields.size() == 1) {
      return Type::list(fields[0].id, std::move(fields[0].type), /*element_required=*/false);
    }
    if (shape == LakeTypeShape::kMap && fields.size() == 2) {
      return Type::map(fields[0].id, std::move(fields[0].type), fields[1].id,
                       std::move(fields[1].type), /*value_required=*/false);
    }
    return fail(ErrorKind::kCorrupt, "a list or map has not the parts it needs");
  }

  [[nodiscard]] const LakeColumn& row_of(FieldId id) const {
    const auto& top = parts_.at(kTop);
    return **std::ranges::find(top, id, [](const LakeColumn* column) { return column->id; });
  }

  const LakeColumns& columns_;
  std::map<FieldId, std::vector<const LakeColumn*>> parts_;
  std::map<FieldId, const std::string*> docs_;
};

}  // namespace

Result<std::vector<Field>> fields_at(const LakeColumns& columns, model::SnapshotId at,
                                     const std::set<FieldId>& left_out) {
  return FieldBuilder(columns, at, left_out).top_level();
}

std::int32_t needed_format_version(const std::vector<LakeColumn>& columns) {
  std::int32_t needed = kLowestFormatVersion;
  for (const LakeColumn& column : columns) {
    if (column.end || shape_of(column.type) != LakeTypeShape::kPrimitive) continue;
    auto shown = shown_type(column.type);
    if (shown) needed = std::max(needed, shown->format_version);
  }
  return needed;
}

model::LakeTypes lake_types_at(const std::vector<LakeColumn>& columns, model::SnapshotId at) {
  model::LakeTypes types;
  for (const LakeColumn& column : columns) {
    if (!column.shown_at(at) || shape_of(column.type) != LakeTypeShape::kPrimitive) continue;
    auto shown = shown_type(column.type);
    if (!shown) continue;
    auto own = lake_type(shown->type);
    if (!own || *own != column.type) types.emplace(column.id, column.type);
  }
  return types;
}

std::optional<model::Literal> initial_default(const LakeColumn& column, const Type& type) {
  if (!column.initial_default) return std::nullopt;
  return default_of(type, *column.initial_default);
}

bool can_be_made(const LakeColumns& columns, model::FieldId source,
                 const model::Transform& transform) {
  auto column = std::ranges::find_if(columns.columns, [&](const LakeColumn& candidate) {
    return candidate.id == source && !candidate.end;
  });
  if (column == columns.columns.end()) return false;
  auto type = iceberg_type(column->type, columns.shown_in());
  return type && model::can_transform(transform, *type);
}

}  // namespace lake::ducklake
