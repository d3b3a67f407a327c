#pragma once

// Iceberg's metadata counts the NaN values of a column; what DuckLake says of
// them is not to be relied on. They are counted in the files, each once, before
// the manifest that shows the count is made. A load may wait for that, so it is
// bounded in bytes and in time: what is beyond has no count, and since a shown
// manifest stays as it is, that is remembered too.

#include <cstdint>

#include "base/core/result.h"
#include "base/metrics/registry.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/from_iceberg/write/lake_writer.h"

namespace lake::publish {

/// The bound, and what became of the files; one for the process.
struct NanCounting {
  NanCounting(std::uint64_t most_bytes, base::metrics::Registry& metrics);

  std::uint64_t most_bytes;  ///< Of data files that one publication reads, footers included.
  base::metrics::Counter counted;
  base::metrics::Counter over_bound;
  base::metrics::Counter out_of_time;
  base::metrics::Counter unreadable;
};

/// Gives the files that `changes` shows first the NaN counts that nobody has made, the
/// newest files first, and has the lake remember each as soon as it is known. A file that
/// is beyond the bound, cannot be read, or is not counted in a quarter of the time that
/// `context` has left, stays without. All that it is given outlives the task.
/// Errors: kUnavailable, kTimeout, kCancelled; those of LakeWriter. What was counted by
///         then is remembered.
[[nodiscard]] base::Task<base::Status> complete_nan_counts(
    base::RequestContext context, const NanCounting* counting, exporter::Exporter* exporter,
    ducklake::LakeWriter* writer, const model::LakeTable* table, model::LakeChanges* changes);

}  // namespace lake::publish
