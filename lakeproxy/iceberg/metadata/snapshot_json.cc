#include "lakeproxy/iceberg/metadata/snapshot_json.h"

#include <fmt/format.h>

namespace lake::model {
namespace {

using base::ErrorKind;
using base::fail;
using base::json::Fields;
using base::json::Object;
using base::json::Value;

constexpr const char* kOperation = "operation";

Object summary_to_json(const Snapshot& snapshot) {
  Object out{{kOperation, to_string(snapshot.operation)}};
  for (const auto& [key, value] : snapshot.summary) out[key] = value;
  return out;
}

base::Status read_summary(const Fields& json, Snapshot& snapshot) {
  ASSIGN_OR_RETURN(snapshot.summary, json.string_map("summary"));
  const auto entry = snapshot.summary.find(kOperation);
  const std::string path = json.path_of("summary") + "." + kOperation;
  if (entry == snapshot.summary.end()) return fail(ErrorKind::kInvalid, path + ": is required");
  const auto operation = parse_operation(entry->second);
  if (!operation) {
    return fail(ErrorKind::kInvalid, path + ": must be append, replace, overwrite or delete");
  }
  snapshot.operation = *operation;
  snapshot.summary.erase(entry);
  return {};
}

base::Result<std::int64_t> not_negative(const Fields& json, std::string_view key,
                                        std::int64_t value) {
  if (value >= 0) return value;
  return fail(ErrorKind::kInvalid, json.path_of(key) + ": must not be negative");
}

base::Result<std::int64_t> natural(const Fields& json, std::string_view key) {
  ASSIGN_OR_RETURN(const auto value, json.int64(key));
  return not_negative(json, key, value);
}

base::Result<std::optional<std::int64_t>> opt_natural(const Fields& json, std::string_view key) {
  ASSIGN_OR_RETURN(const auto value, json.opt_int64(key));
  if (!value) return std::optional<std::int64_t>();
  ASSIGN_OR_RETURN(const auto checked, not_negative(json, key, *value));
  return std::optional<std::int64_t>(checked);
}

/// Older writers say "no parent" as -1.
base::Result<std::optional<SnapshotId>> parent_from_json(const Fields& json) {
  ASSIGN_OR_RETURN(const auto id, json.opt_int64("parent-snapshot-id"));
  if (!id || *id == -1) return std::optional<SnapshotId>();
  ASSIGN_OR_RETURN(const auto checked, not_negative(json, "parent-snapshot-id", *id));
  return std::optional<SnapshotId>(SnapshotId(checked));
}

base::Result<std::optional<std::int64_t>> opt_positive(const Fields& json, std::string_view key) {
  ASSIGN_OR_RETURN(const auto value, json.opt_int64(key));
  if (value && *value < 1) {
    return fail(ErrorKind::kInvalid, json.path_of(key) + ": must be greater than 0");
  }
  return value;
}

}  // namespace

Value to_json(const Snapshot& snapshot) {
  Object out{{"sequence-number", snapshot.sequence_number},
             {"snapshot-id", snapshot.snapshot_id.value}};
  if (snapshot.parent_snapshot_id) out["parent-snapshot-id"] = snapshot.parent_snapshot_id->value;
  out["timestamp-ms"] = snapshot.timestamp_ms;
  out["summary"] = summary_to_json(snapshot);
  out["manifest-list"] = snapshot.manifest_list;
  if (snapshot.schema_id) out["schema-id"] = *snapshot.schema_id;
  if (snapshot.first_row_id) out["first-row-id"] = *snapshot.first_row_id;
  if (snapshot.added_rows) out["added-rows"] = *snapshot.added_rows;
  return out;
}

base::Result<Snapshot> snapshot_from_json(const Fields& json) {
  Snapshot snapshot;
  ASSIGN_OR_RETURN(const auto id, natural(json, "snapshot-id"));
  snapshot.snapshot_id = SnapshotId(id);
  ASSIGN_OR_RETURN(snapshot.parent_snapshot_id, parent_from_json(json));
  ASSIGN_OR_RETURN(const auto sequence_number, opt_natural(json, "sequence-number"));
  snapshot.sequence_number = sequence_number.value_or(0);
  ASSIGN_OR_RETURN(snapshot.timestamp_ms, natural(json, "timestamp-ms"));
  RETURN_IF_ERROR(read_summary(json, snapshot));
  ASSIGN_OR_RETURN(snapshot.manifest_list, json.string("manifest-list"));
  ASSIGN_OR_RETURN(snapshot.schema_id, json.opt_int32("schema-id"));
  ASSIGN_OR_RETURN(snapshot.first_row_id, opt_natural(json, "first-row-id"));
  ASSIGN_OR_RETURN(snapshot.added_rows, opt_natural(json, "added-rows"));
  return snapshot;
}

Value to_json(const SnapshotRef& ref) {
  Object out{{"snapshot-id", ref.snapshot_id.value},
             {"type", ref.type == RefType::kBranch ? "branch" : "tag"}};
  if (ref.min_snapshots_to_keep) out["min-snapshots-to-keep"] = *ref.min_snapshots_to_keep;
  if (ref.max_snapshot_age_ms) out["max-snapshot-age-ms"] = *ref.max_snapshot_age_ms;
  if (ref.max_ref_age_ms) out["max-ref-age-ms"] = *ref.max_ref_age_ms;
  return out;
}

base::Result<SnapshotRef> snapshot_ref_from_json(const Fields& json) {
  SnapshotRef ref;
  ASSIGN_OR_RETURN(const auto id, natural(json, "snapshot-id"));
  ref.snapshot_id = SnapshotId(id);
  ASSIGN_OR_RETURN(const auto type, json.string("type"));
  if (type != "branch" && type != "tag") {
    return fail(ErrorKind::kInvalid, json.path_of("type") + ": must be branch or tag");
  }
  ref.type = type == "branch" ? RefType::kBranch : RefType::kTag;
  ASSIGN_OR_RETURN(ref.max_ref_age_ms, opt_positive(json, "max-ref-age-ms"));
  ASSIGN_OR_RETURN(ref.max_snapshot_age_ms, opt_positive(json, "max-snapshot-age-ms"));
  ASSIGN_OR_RETURN(ref.min_snapshots_to_keep, json.opt_int32("min-snapshots-to-keep"));
  const bool keeps_snapshots = ref.max_snapshot_age_ms || ref.min_snapshots_to_keep;
  if (ref.type == RefType::kTag && keeps_snapshots) {
    return fail(ErrorKind::kInvalid,
                json.path() + ": a tag keeps one snapshot and takes max-ref-age-ms only");
  }
  if (ref.min_snapshots_to_keep.value_or(1) < 1) {
    return fail(ErrorKind::kInvalid,
                json.path_of("min-snapshots-to-keep") + ": must be greater than 0");
  }
  return ref;
}

}  // namespace lake::model
