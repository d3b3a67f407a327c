#include "lakeproxy/from_iceberg/rows/spec_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "lakeproxy/iceberg/schema/partition_json.h"
#include "lakeproxy/mapping/transform_text.h"
#include "lakeproxy/mapping/type_mapping.h"

namespace lake::ducklake {
namespace {

using base::pg::array_param;
using base::pg::param;
using base::pg::Query;

bool is_bucket(const model::PartitionField& field) {
  return field.transform.kind == model::TransformKind::kBucket;
}

// Whether the lake's partition can have the field as a key.
bool is_held(const model::PartitionField& field, const model::Schema& schema, const SpecPlace& to) {
  if (!lake_transform(field.transform, model::LakeFormat::k1_0)) return false;
  if (!is_bucket(field)) return true;
  const model::Field* source = schema.find(field.source_id);
  if (to.others == OtherFiles::kSome || source == nullptr) return false;
  auto held = to.lake_types.find(field.source_id);
  if (held != to.lake_types.end()) return bucket_is_icebergs(held->second);
  auto type = lake_type(source->type);
  return type && bucket_is_icebergs(*type);
}

bool is_held_whole(const model::PartitionSpec& spec, const model::Schema& schema,
                   const SpecPlace& to) {
  return std::ranges::all_of(spec.fields,
                             [&](const auto& field) { return is_held(field, schema, to); });
}

// Begins the lake's partition of a spec; nothing where it can hold none of it.
PartitionChange begin_lake_partition(const SchemaSql& sql, const SpecPlace& to,
                                     const model::PartitionSpec& spec, const model::Schema& schema,
                                     LakeDelta& delta) {
  PartitionChange change{.ended = true, .spec_id = spec.spec_id};
  std::vector<std::int64_t> columns;
  std::vector<std::optional<std::string>> transforms;
  for (const auto& field : spec.fields) {
    const bool held = is_held(field, schema, to);
    change.keys.of_field.push_back(held ? std::optional(change.keys.count) : std::nullopt);
    if (!held) continue;
    change.keys.count += 1;
    change.bucketed = change.bucketed || is_bucket(field);
    columns.push_back(field.source_id);
    transforms.push_back(lake_transform(field.transform, to.format));
    if (is_ordinal(*transforms.back()))
      change.keys.ordinals.insert(change.keys.of_field.size() - 1);
  }
  if (columns.empty()) return change;
  const SidecarPlace& place = to.place;
  change.begun = to.first_catalog_id + delta.catalog_ids_used;
  delta.catalog_ids_used += 1;
  delta.queries.push_back(
      {sql("INSERT INTO @ducklake_partition_info (partition_id, table_id, begin_snapshot, "
           "end_snapshot) VALUES ($1, $2, $3, NULL)"),
       {param(*change.begun), param(place.table_id), param(place.begin)}});
  delta.queries.push_back(
      {sql("INSERT INTO @ducklake_partition_column (partition_id, table_id, partition_key_index, "
           "column_id, transform) SELECT $1, $2, n - 1, c, t FROM unnest($3::bigint[], $4::text[]) "
           "WITH ORDINALITY AS p(c, t, n)"),
       {param(*change.begun), param(place.table_id), array_param(columns),
        array_param(transforms)}});
  return change;
}

Query end_lake_partition(const SchemaSql& sql, const SidecarPlace& place) {
  return {sql("UPDATE @ducklake_partition_info SET end_snapshot = $2 WHERE table_id = $1 AND "
              "end_snapshot IS NULL AND begin_snapshot < $2"),
          {param(place.table_id), param(place.begin)}};
}

base::Status check_transforms(const model::PartitionSpec& spec) {
  for (const auto& field : spec.fields) {
    auto kind = field.transform.kind;
    if (kind == model::TransformKind::kVoid || kind == model::TransformKind::kUnknown) {
      return base::fail(base::ErrorKind::kUnsupported,
                        fmt::format("partition field {}: the transform {} is not supported",
                                    field.name, model::to_string(field.transform)));
    }
  }
  return {};
}

// The default spec, and the one of the lake's partition that is begun for it.
void use_as_default(const SidecarPlace& place, std::int32_t spec_id, const PartitionChange& change,
                    DefinitionRows& rows) {
  rows.use("default", place.begin, spec_id);
  if (change.begun) rows.use("partition", *change.begun, spec_id);
}

}  // namespace

model::LakeTable PartitionChange::applied_to(model::LakeTable table) const {
  if (ended) table.bucketed_partition = std::nullopt;
  if (!begun) return table;
  table.spec_of_partition[*begun] = spec_id;
  table.keys_of_partition[*begun] = keys;
  if (bucketed) table.bucketed_partition = begun;
  return table;
}

base::Result<PartitionChange> put_new_specs(const SchemaSql& sql, const SpecPlace& place,
                                            const model::TableMetadata& metadata,
                                            const std::set<std::int32_t>& known, LakeDelta& delta,
                                            DefinitionRows& rows) {
  PartitionChange change;
  for (const model::PartitionSpec& spec : metadata.partition_specs) {
    if (known.contains(spec.spec_id)) continue;
    RETURN_IF_ERROR(check_transforms(spec));
    const bool is_default = spec.spec_id == metadata.default_spec_id;
    if (is_default) {
      if (!known.empty()) delta.queries.push_back(end_lake_partition(sql, place.place));
      change = begin_lake_partition(sql, place, spec, metadata.current_schema(), delta);
    }
    rows.define("spec", spec.spec_id, model::fields_to_json(spec));
    if (is_default) use_as_default(place.place, spec.spec_id, change, rows);
  }
  return change;
}

PartitionChange change_default_spec(const SchemaSql& sql, const SpecPlace& place,
                                    const model::TableMetadata& before,
                                    const model::TableMetadata& after, LakeDelta& delta,
                                    DefinitionRows& rows) {
  const model::PartitionSpec* from = before.find_spec(before.default_spec_id);
  const model::PartitionSpec* to = before.find_spec(after.default_spec_id);
  if (to == nullptr || from == nullptr || to->spec_id == from->spec_id) return {};
  // A partition of the lake that holds a part of the spec keeps its meaning for the files
  // of then, so none is begun for it anew: what DuckDB writes has none.
  PartitionChange change{.ended = true};
  if (!from->is_unpartitioned()) delta.queries.push_back(end_lake_partition(sql, place.place));
  if (is_held_whole(*to, after.current_schema(), place)) {
    change = begin_lake_partition(sql, place, *to, after.current_schema(), delta);
  }
  use_as_default(place.place, to->spec_id, change, rows);
  return change;
}

PartitionChange end_without_columns(const SchemaSql& sql, const SpecPlace& place,
                                    const model::LakeTable& before,
                                    const model::TableMetadata& after, LakeDelta& delta,
                                    DefinitionRows& rows) {
  const model::Schema& schema = after.current_schema();
  auto is_there = [&](model::FieldId id) { return schema.find(id) != nullptr; };
  if (std::ranges::all_of(before.partition_columns, is_there)) return {};
  delta.queries.push_back(end_lake_partition(sql, place.place));
  const model::PartitionSpec* spec = after.find_spec(after.default_spec_id);
  if (spec == nullptr) return {.ended = true};
  PartitionChange change{.ended = true};
  if (is_held_whole(*spec, schema, place)) {
    change = begin_lake_partition(sql, place, *spec, schema, delta);
  }
  use_as_default(place.place, spec->spec_id, change, rows);
  return change;
}

}  // namespace lake::ducklake
