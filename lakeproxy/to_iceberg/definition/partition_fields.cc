#include "lakeproxy/to_iceberg/definition/partition_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "lakeproxy/mapping/transform_text.h"
#include "lakeproxy/mapping/type_mapping.h"

namespace lake::ducklake {
namespace {

using model::PartitionField;
using model::Transform;
using model::TransformKind;

std::string default_name(const std::string& column, const Transform& transform) {
  switch (transform.kind) {
    case TransformKind::kBucket: return column + "_bucket";
    case TransformKind::kTruncate: return column + "_trunc";
    case TransformKind::kYear: return column + "_year";
    case TransformKind::kMonth: return column + "_month";
    case TransformKind::kDay: return column + "_day";
    case TransformKind::kHour: return column + "_hour";
    default: return column;
  }
}

const LakeColumn* source_of(const LakeColumns& columns, const LakePartitionKey& key,
                            model::SnapshotId at) {
  auto found = std::ranges::find_if(columns.columns, [&](const LakeColumn& column) {
    return column.id == key.column_id && column.shown_at(at);
  });
  return found == columns.columns.end() ? nullptr : &*found;
}

bool can_show(const Transform& transform, const LakeColumn& source, ShownIn in) {
  auto type = iceberg_type(source.type, in);
  if (!type || !model::can_transform(transform, *type)) return false;
  if (!arranges_alike(source.type)) return false;
  return transform.kind != TransformKind::kBucket || bucket_is_icebergs(source.type);
}

// A client's spec may have a bucket that the lake fills by another hash.
bool means_the_same(const LakeColumns& columns, const LakePartition& partition,
                    const LakePartitionKey& key, const Transform& transform) {
  if (transform.kind != TransformKind::kBucket) return true;
  const LakeColumn* source = source_of(columns, key, partition.begin);
  return source != nullptr && bucket_is_icebergs(source->type);
}

template <class Taken>
std::string first_free(const std::string& name, const Taken& taken) {
  std::string wanted = name;
  for (int suffix = 2; taken(wanted); ++suffix) wanted = fmt::format("{}_{}", name, suffix);
  return wanted;
}

std::string free_name(const LakeColumns& columns, const std::vector<PartitionField>& fields,
                      const std::string& name, const PartitionField& field) {
  auto taken = [&](const std::string& wanted) {
    return std::ranges::any_of(fields, [&](const auto& f) { return f.name == wanted; }) ||
           std::ranges::any_of(columns.columns, [&](const LakeColumn& column) {
             const bool source =
                 column.id == field.source_id && field.transform.kind == TransformKind::kIdentity;
             return !source && !column.parent && column.name == wanted;
           });
  };
  return first_free(name, taken);
}

}  // namespace

std::vector<PartitionField> partition_fields(const LakeColumns& columns,
                                             const LakePartition& partition) {
  std::vector<PartitionField> fields;
  for (const LakePartitionKey& key : partition.keys) {
    auto transform = iceberg_transform(key.transform);
    const LakeColumn* source = source_of(columns, key, partition.begin);
    if (!transform || source == nullptr) continue;
    if (!can_show(*transform, *source, columns.shown_in())) continue;
    const bool again = std::ranges::any_of(fields, [&](const PartitionField& shown) {
      return shown.source_id == key.column_id && shown.transform == *transform;
    });
    if (again) continue;
    PartitionField field{.source_id = key.column_id, .transform = *transform};
    field.name = free_name(columns, fields, default_name(source->name, *transform), field);
    fields.push_back(std::move(field));
  }
  return fields;
}

std::vector<model::PartitionSpec> named_beside_columns(std::vector<model::PartitionSpec> specs,
                                                       const model::Schema& columns) {
  for (model::PartitionSpec& spec : specs) {
    for (PartitionField& field : spec.fields) {
      auto taken = [&](const std::string& wanted) {
        const model::Field* column = columns.find(std::string_view(wanted));
        const bool is_own = column != nullptr && column->id == field.source_id &&
                            field.transform.kind == TransformKind::kIdentity;
        auto has_it = [&](const PartitionField& other) {
          return other.field_id != field.field_id && other.name == wanted;
        };
        return (column != nullptr && !is_own) || std::ranges::any_of(spec.fields, has_it);
      };
      field.name = first_free(field.name, taken);
    }
  }
  return specs;
}

model::PartitionKeys keys_of_fields(const LakeColumns& columns, const model::PartitionSpec& spec,
                                    const LakePartition& partition) {
  model::PartitionKeys keys{.count = static_cast<std::int64_t>(partition.keys.size())};
  for (std::size_t i = 0; i < spec.fields.size(); ++i) {
    const PartitionField& field = spec.fields[i];
    keys.of_field.emplace_back();
    for (const LakePartitionKey& key : partition.keys) {
      const bool matches = key.column_id == field.source_id &&
                           iceberg_transform(key.transform) == std::optional(field.transform) &&
                           means_the_same(columns, partition, key, field.transform);
      // What counts from 1970 says more than a calendar part of the same.
      if (!matches || (keys.of_field[i] && !is_ordinal(key.transform))) continue;
      keys.of_field[i] = key.index;
      if (!is_ordinal(key.transform)) continue;
      keys.ordinals.insert(i);
      break;
    }
  }
  return keys;
}

}  // namespace lake::ducklake
