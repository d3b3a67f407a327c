#pragma once

// Snapshots and refs in JSON.
// Source: Iceberg table specification, Appendix C.
// Every reader fails with kInvalid and names the path and the rule.

#include "base/core/result.h"
#include "base/json/fields.h"
#include "base/json/json.h"
#include "lakeproxy/iceberg/metadata/snapshot.h"

namespace lake::model {

[[nodiscard]] base::json::Value to_json(const Snapshot& snapshot);
[[nodiscard]] base::Result<Snapshot> snapshot_from_json(const base::json::Fields& json);
[[nodiscard]] base::json::Value to_json(const SnapshotRef& ref);
[[nodiscard]] base::Result<SnapshotRef> snapshot_ref_from_json(const base::json::Fields& json);

}  // namespace lake::model
