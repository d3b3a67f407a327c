#include "lakeproxy/iceberg/manifest/header_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace lake::materialize {
namespace {

using model::Literal;
using model::TypeKind;

template <class To, class From>
void convert(Literal& value) {
  const auto* held = std::get_if<From>(&value);
  if (held == nullptr) return;
  if constexpr (sizeof(To) < sizeof(From)) {
    if (*held > std::numeric_limits<To>::max() || *held < std::numeric_limits<To>::lowest()) return;
    if (static_cast<From>(static_cast<To>(*held)) != *held) return;
  }
  value = static_cast<To>(*held);
}

void fit(Literal& value, TypeKind kind) {
  switch (kind) {
    case TypeKind::kLong: return convert<std::int64_t, std::int32_t>(value);
    case TypeKind::kInt: return convert<std::int32_t, std::int64_t>(value);
    case TypeKind::kDouble: return convert<double, float>(value);
    case TypeKind::kFloat: return convert<float, double>(value);
    default: return;
  }
}

}  // namespace

bool fits(const model::PartitionSpec& spec, const model::Schema& schema) {
  return std::ranges::all_of(spec.fields, [&](const model::PartitionField& field) {
    if (field.transform.kind == model::TransformKind::kVoid) return true;
    const model::Field* source = schema.find(field.source_id);
    return source == nullptr || model::can_transform(field.transform, source->type);
  });
}

bool keeps_values(const model::PartitionSpec& spec, const model::Schema& from,
                  const model::Schema& to) {
  return std::ranges::all_of(spec.fields, [&](const model::PartitionField& field) {
    const model::Field* before = from.find(field.source_id);
    const model::Field* after = to.find(field.source_id);
    return before == nullptr || after == nullptr ||
           model::keeps_values(field.transform, before->type, after->type);
  });
}

base::Result<model::Schema> header_schema(const model::TableMetadata& table,
                                          const model::PartitionSpec& spec,
                                          std::int32_t snapshot_schema_id) {
  if (spec.is_unpartitioned()) {
    const model::Schema* found = table.find_schema(snapshot_schema_id);
    return found != nullptr ? *found : table.current_schema();
  }
  const model::Schema* newest = nullptr;
  for (auto schema = table.schemas.rbegin(); schema != table.schemas.rend(); ++schema) {
    bool has_all = std::ranges::all_of(spec.fields, [&](const model::PartitionField& field) {
      return field.transform.kind == model::TransformKind::kVoid ||
             schema->find(field.source_id) != nullptr;
    });
    if (!has_all) continue;
    if (fits(spec, *schema)) return *schema;
    if (newest == nullptr) newest = &*schema;
  }
  if (newest != nullptr) return *newest;
  return base::fail(
      base::ErrorKind::kCorrupt,
      fmt::format("no schema has all the source columns of partition spec {}", spec.spec_id));
}

void fit_partition(const std::vector<PartitionColumn>& columns, model::PartitionTuple& tuple) {
  for (std::size_t i = 0; i < std::min(tuple.size(), columns.size()); ++i) {
    if (tuple[i]) fit(*tuple[i], columns[i].type.kind());
  }
}

base::Status fit_partitions(const model::Schema& schema, const model::PartitionSpec& spec,
                            std::vector<model::ManifestEntry>& entries) {
  if (spec.is_unpartitioned()) return {};
  ASSIGN_OR_RETURN(auto columns, partition_columns(schema, spec));
  for (model::ManifestEntry& entry : entries) {
    fit_partition(columns, entry.data_file.partition);
  }
  return {};
}

}  // namespace lake::materialize
