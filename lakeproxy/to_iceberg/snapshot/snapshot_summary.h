#pragma once

// The counts that a snapshot carries: what it added and removed, and the
// table's totals after it.
// Source: Iceberg table specification, Appendix F, "Snapshot Summary Fields".

#include <map>
#include <string>

#include "lakeproxy/to_iceberg/snapshot/snapshot_builder.h"

namespace lake::materialize {

/// Files that a snapshot takes out of view, as found in the manifests.
struct RemovedFiles {
  std::vector<model::DataFile> data;
  std::vector<model::DataFile> deletes;
};

/// The client's own word where it fits what was done, else what was done.
[[nodiscard]] model::Operation operation_of(const SnapshotChange& change,
                                            const RemovedFiles& removed);

[[nodiscard]] std::map<std::string, std::string> summarize(const SnapshotChange& change,
                                                           const RemovedFiles& removed,
                                                           const model::Snapshot* parent);

}  // namespace lake::materialize
