#include "lakeproxy/to_iceberg/definition/spec_ids.h"

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>
#include <utility>

namespace lake::ducklake {
namespace {

using model::PartitionField;
using model::PartitionSpec;
using model::SnapshotId;
using model::TransformKind;

bool has_bucket(const LakePartition& partition) {
  return std::ranges::any_of(partition.keys, [](const LakePartitionKey& key) {
    return key.transform.starts_with("bucket(");
  });
}

LakePartition as_partition(const PathColumns& path) {
  LakePartition partition{.begin = path.begin};
  for (const model::FieldId id : path.column_ids) {
    partition.keys.push_back({.index = static_cast<std::int64_t>(partition.keys.size()),
                              .column_id = id,
                              .transform = "identity"});
  }
  return partition;
}

// In whatever order.
bool is_of_columns(const PartitionSpec& spec, const std::vector<PartitionField>& fields) {
  return spec.fields.size() == fields.size() &&
         std::ranges::all_of(fields, [&](const PartitionField& wanted) {
           return std::ranges::any_of(spec.fields, [&](const PartitionField& field) {
             return field.source_id == wanted.source_id && field.transform == wanted.transform;
           });
         });
}

// What happens at a snapshot, in this order.
enum class EventKind { kCreated, kEnded, kBegun, kPath };

// Equal ones stay in the order in which they are added.
using Events = std::multimap<std::pair<SnapshotId, EventKind>, std::function<void()>>;

class Assignment {
 public:
  Assignment(const LakePartitioning& lake, AssignedIds& ids)
      : lake_(lake), columns_(lake.columns), ids_(ids) {
    if (!ids.specs.empty()) last_partition_id_ = lake.last_partition_id;
    for (const PartitionSpec& spec : ids.specs | std::views::values) {
      for (const PartitionField& field : spec.fields) remember(field);
    }
  }

  void run() {
    for (const auto& [at, apply] : collect()) apply();
  }

  [[nodiscard]] SpecUse use() {
    SpecUse use{.default_spec_id = default_spec()};
    const PartitionSpec& shown = ids_.specs.at(use.default_spec_id);
    if (!can_be_written(shown)) use.default_spec_id = add({});
    if (outgrows_a_spec()) (void)add({});
    use.unpartitioned_spec_id = unpartitioned();
    use.last_partition_id = last_partition_id_;
    for (const LakePartition& partition : lake_.partitions) {
      const std::int64_t id = partition.partition_id;
      if (!partition.end && has_bucket(partition)) use.bucketed_partition = id;
      use.keys_of_partition[id] =
          keys_of_fields(columns_, ids_.specs.at(ids_.spec_of_partition.at(id)), partition);
    }
    return use;
  }

 private:
  [[nodiscard]] Events collect() {
    Events events;
    if (ids_.specs.empty()) add_creation(events);
    for (const LakePartition& partition : lake_.partitions) {
      if (!ids_.spec_of_partition.contains(partition.partition_id)) {
        events.emplace(std::pair(partition.begin, EventKind::kBegun), [this, &partition] {
          ids_.spec_of_partition[partition.partition_id] =
              add(partition_fields(columns_, partition));
        });
      }
      if (!partition.end || is_replaced(*partition.end)) continue;
      events.emplace(std::pair(*partition.end, EventKind::kEnded), [this] { (void)add({}); });
    }
    for (const PathColumns& path : lake_.paths) {
      if (ids_.spec_of_mapping.contains(path.mapping_id)) continue;
      events.emplace(std::pair(path.begin, EventKind::kPath), [this, &path] { add_path(path); });
    }
    return events;
  }

  void add_creation(Events& events) {
    SnapshotId created{INT64_MAX};
    for (const LakeColumn& column : columns_.columns) created = std::min(created, column.begin);
    events.emplace(std::pair(created, EventKind::kCreated), [this] { (void)add({}); });
  }

  // Whether something else takes the place of what ended.
  [[nodiscard]] bool is_replaced(SnapshotId end) const {
    return ids_.default_at.contains(end) ||
           std::ranges::find(lake_.partitions, end, &LakePartition::begin) !=
               lake_.partitions.end();
  }

  // The newest of what a client set, what DuckDB set, and that DuckDB took away.
  [[nodiscard]] std::int32_t default_spec() {
    const auto client = ids_.default_at.rbegin();
    SnapshotId since = client == ids_.default_at.rend() ? SnapshotId(-1) : client->first;
    std::optional<std::int32_t> id;
    if (since.value >= 0) id = client->second;
    for (const LakePartition& partition : lake_.partitions) {
      if (!partition.end && partition.begin >= since) {
        id = ids_.spec_of_partition.at(partition.partition_id);
        since = partition.begin;
      } else if (partition.end && *partition.end > since) {
        id = std::nullopt;
        since = *partition.end;
      }
    }
    return id ? *id : add({});
  }

  [[nodiscard]] bool can_be_written(const PartitionSpec& spec) const {
    return std::ranges::all_of(spec.fields, [&](const PartitionField& field) {
      return can_be_made(columns_, field.source_id, field.transform);
    });
  }

  // Whether a column became of a type that the transform of a partition field does not take: files
  // then go under the unpartitioned spec, which must be there.
  [[nodiscard]] bool outgrows_a_spec() const {
    return std::ranges::any_of(known_fields_, [&](const PartitionField& field) {
      return std::ranges::any_of(columns_.columns, [&](const LakeColumn& column) {
        return column.id == field.source_id && !column.end &&
               field.transform.kind != TransformKind::kVoid &&
               !can_be_made(columns_, field.source_id, field.transform);
      });
    });
  }

  // Of a column that can be in no spec the values cannot be shown.
  void add_path(const PathColumns& path) {
    std::vector<PartitionField> fields = partition_fields(columns_, as_partition(path));
    if (fields.size() != path.column_ids.size()) return;
    for (const PartitionSpec& spec : ids_.specs | std::views::values) {
      if (!is_of_columns(spec, fields)) continue;
      ids_.spec_of_mapping[path.mapping_id] = spec.spec_id;
      return;
    }
    ids_.spec_of_mapping[path.mapping_id] = add(std::move(fields));
  }

  // The id of the spec with these fields, a new one if there is none yet.
  std::int32_t add(std::vector<PartitionField> fields) {
    for (PartitionField& field : fields) take_known(field);
    PartitionSpec spec{.fields = std::move(fields)};
    for (const PartitionSpec& known : ids_.specs | std::views::values) {
      if (known.compatible_with(spec)) return known.spec_id;
    }
    spec.spec_id = highest_id(ids_.specs) + 1;
    for (PartitionField& field : spec.fields) {
      if (field.field_id != 0) continue;
      field.field_id = last_partition_id_ + 1;
      remember(field);
    }
    ids_.specs.emplace(spec.spec_id, spec);
    return spec.spec_id;
  }

  // Equal source and transform means equal id and name, as clients do it.
  void take_known(PartitionField& field) const {
    for (const PartitionField& known : known_fields_) {
      if (known.source_id != field.source_id || known.transform != field.transform) continue;
      field.field_id = known.field_id;
      field.name = known.name;
      return;
    }
  }

  void remember(const PartitionField& field) {
    known_fields_.push_back(field);
    last_partition_id_ = std::max(last_partition_id_, field.field_id);
  }

  [[nodiscard]] std::optional<std::int32_t> unpartitioned() const {
    for (const PartitionSpec& spec : ids_.specs | std::views::values) {
      if (spec.is_unpartitioned()) return spec.spec_id;
    }
    return std::nullopt;
  }

  const LakePartitioning& lake_;
  const LakeColumns& columns_;
  AssignedIds& ids_;
  std::vector<PartitionField> known_fields_;
  std::int32_t last_partition_id_ = model::kNoPartitionFieldId;
};

}  // namespace

SpecUse assign_specs(LakePartitioning lake, AssignedIds& ids) {
  std::ranges::sort(lake.partitions, {},
                    [](const LakePartition& p) { return std::pair(p.begin, p.partition_id); });
  std::ranges::sort(lake.paths, {},
                    [](const PathColumns& p) { return std::pair(p.begin, p.mapping_id); });
  Assignment assignment(lake, ids);
  assignment.run();
  return assignment.use();
}

}  // namespace lake::ducklake
