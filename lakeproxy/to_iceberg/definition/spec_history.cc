#include "lakeproxy/to_iceberg/definition/spec_history.h"

#include <algorithm>
#include <set>

#include "lakeproxy/to_iceberg/definition/partition_fields.h"
#include "lakeproxy/to_iceberg/definition/spec_events.h"

namespace lake::ducklake {
namespace {

using model::PartitionField;
using model::PartitionSpec;
using model::SnapshotId;
using model::TransformKind;

bool has_calendar_field(const PartitionSpec& spec) {
  return std::ranges::any_of(spec.fields, [](const PartitionField& field) {
    return field.transform.kind == TransformKind::kYear ||
           field.transform.kind == TransformKind::kMonth ||
           field.transform.kind == TransformKind::kDay ||
           field.transform.kind == TransformKind::kHour;
  });
}

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

constexpr SnapshotId kNow{INT64_MAX};

struct KnownField {
  PartitionField field;
  SnapshotId since;
};

class Walk {
 public:
  Walk(const LakeColumns& columns, const std::vector<ClientSpec>& clients)
      : columns_(columns), clients_(clients) {
    for (const ClientSpec& client : clients) {
      if (client.partition_id) of_clients_.insert(*client.partition_id);
      remember(client);
    }
  }

  void apply(const SpecEvent& event) {
    switch (event.kind) {
      case SpecEventKind::kCreated:
      case SpecEventKind::kEnded: make_default(add({}, event.at)); break;
      case SpecEventKind::kBegun: begin(*event.partition); break;
      case SpecEventKind::kClient: set(*event.client); break;
      case SpecEventKind::kPath: add_path(*event.path); break;
    }
    add_unpartitioned_after_calendar();
  }

  [[nodiscard]] SpecHistory finish(const std::vector<LakePartition>& partitions) && {
    if (!can_be_written(spec_of(history_.default_spec_id))) make_default(add({}, kNow));
    const PartitionSpec* flat = unpartitioned();
    history_.unpartitioned_spec_id = flat != nullptr ? flat->spec_id : history_.default_spec_id;
    for (const LakePartition& partition : partitions) {
      if (!partition.end && has_bucket(partition)) {
        history_.bucketed_partition = partition.partition_id;
      }
      auto spec = history_.spec_of_partition.find(partition.partition_id);
      if (spec == history_.spec_of_partition.end()) continue;
      history_.keys_of_partition[partition.partition_id] =
          keys_of_fields(columns_, spec_of(spec->second), partition);
    }
    return std::move(history_);
  }

 private:
  [[nodiscard]] bool can_be_written(const PartitionSpec& spec) const {
    return std::ranges::all_of(spec.fields, [&](const PartitionField& field) {
      return can_be_made(columns_, field.source_id, field.transform);
    });
  }

  void begin(const LakePartition& partition) {
    if (of_clients_.contains(partition.partition_id)) return;
    const std::int32_t id = add(partition_fields(columns_, partition), partition.begin);
    history_.spec_of_partition[partition.partition_id] = id;
    make_default(id);
  }

  void set(const ClientSpec& client) {
    if (!has(client.spec.spec_id)) history_.specs.push_back(client.spec);
    if (client.partition_id) {
      history_.spec_of_partition[*client.partition_id] = client.spec.spec_id;
    }
    if (client.is_default) make_default(client.spec.spec_id);
  }

  // Of a column that can be in no spec the values cannot be shown.
  void add_path(const PathColumns& path) {
    std::vector<PartitionField> fields = partition_fields(columns_, as_partition(path));
    if (fields.size() != path.column_ids.size()) return;
    auto known = std::ranges::find_if(
        history_.specs, [&](const PartitionSpec& spec) { return is_of_columns(spec, fields); });
    history_.spec_of_mapping[path.mapping_id] =
        known != history_.specs.end() ? known->spec_id : add(std::move(fields), path.begin);
  }

  // The id of the spec with these fields, made at that snapshot if there is none yet.
  std::int32_t add(std::vector<PartitionField> fields, SnapshotId at) {
    for (PartitionField& field : fields) take_known(field, at);
    PartitionSpec spec{.fields = std::move(fields)};
    for (const PartitionSpec& known : history_.specs) {
      if (known.compatible_with(spec)) return known.spec_id;
    }
    for (const ClientSpec& client : clients_) {
      // A client took it up later, under the id that it was shown with.
      if (!client.spec.compatible_with(spec)) continue;
      history_.specs.push_back(client.spec);
      return client.spec.spec_id;
    }
    spec.spec_id = next_spec_id();
    for (PartitionField& field : spec.fields) {
      if (field.field_id != 0) continue;
      field.field_id = ++history_.last_partition_id;
      known_fields_.push_back({field, at});
    }
    history_.specs.push_back(spec);
    return spec.spec_id;
  }

  void add_unpartitioned_after_calendar() {
    if (unpartitioned() != nullptr) return;
    if (std::ranges::any_of(history_.specs, has_calendar_field)) (void)add({}, kNow);
  }

  // Equal source and transform means equal id and name, as clients do it. A name counts
  // from when it was given: what was shown before stays as it was.
  void take_known(PartitionField& field, SnapshotId at) const {
    for (const auto& [known, since] : known_fields_) {
      if (known.source_id != field.source_id || known.transform != field.transform) continue;
      field.field_id = known.field_id;
      if (since > at) continue;
      field.name = known.name;
      return;
    }
  }

  void remember(const ClientSpec& client) {
    for (const PartitionField& field : client.spec.fields) {
      known_fields_.push_back({field, client.begin});
      history_.last_partition_id = std::max(history_.last_partition_id, field.field_id);
    }
  }

  [[nodiscard]] std::int32_t next_spec_id() const {
    std::int32_t id = -1;
    for (const PartitionSpec& spec : history_.specs) id = std::max(id, spec.spec_id);
    auto taken = [&] {
      return std::ranges::any_of(clients_, [&](const auto& c) { return c.spec.spec_id == id; });
    };
    for (++id; taken(); ++id) {
    }
    return id;
  }

  [[nodiscard]] const PartitionSpec* unpartitioned() const {
    auto found = std::ranges::find_if(history_.specs, &PartitionSpec::is_unpartitioned);
    return found == history_.specs.end() ? nullptr : &*found;
  }
  [[nodiscard]] bool has(std::int32_t id) const {
    return std::ranges::find(history_.specs, id, &PartitionSpec::spec_id) != history_.specs.end();
  }
  [[nodiscard]] const PartitionSpec& spec_of(std::int32_t id) const {
    return *std::ranges::find(history_.specs, id, &PartitionSpec::spec_id);
  }
  void make_default(std::int32_t id) { history_.default_spec_id = id; }

  const LakeColumns& columns_;
  const std::vector<ClientSpec>& clients_;
  std::set<std::int64_t> of_clients_;
  std::vector<KnownField> known_fields_;
  SpecHistory history_;
};

}  // namespace

SpecHistory spec_history(const LakeColumns& columns, std::vector<LakePartition> partitions,
                         std::vector<ClientSpec> client_specs,
                         std::vector<PathColumns> path_columns) {
  SnapshotId created{INT64_MAX};
  for (const LakeColumn& column : columns.columns) created = std::min(created, column.begin);
  std::ranges::sort(partitions, {},
                    [](const LakePartition& p) { return std::pair(p.begin, p.partition_id); });
  std::ranges::sort(client_specs, {},
                    [](const ClientSpec& c) { return std::pair(c.begin, c.spec.spec_id); });
  std::ranges::sort(path_columns, {},
                    [](const PathColumns& p) { return std::pair(p.begin, p.mapping_id); });
  Walk walk(columns, client_specs);
  for (const SpecEvent& event : spec_events(partitions, client_specs, path_columns, created)) {
    walk.apply(event);
  }
  return std::move(walk).finish(partitions);
}

}  // namespace lake::ducklake
