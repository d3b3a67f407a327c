#pragma once

// One table of one lake is made small at a time: the engine that does it has
// its own memory, so the process's bound is that of one compaction.

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "base/runtime/workers.h"
#include "lakeproxy/export/lake_session.h"

namespace lake::exporter {

/// What was left undone, and why; a later compaction does it.
struct SkippedStep {
  std::string step;
  std::string reason;
};

struct CompactionDone {
  std::int64_t rows_flushed = 0;
  Rewritten rewritten;  ///< Files of which many rows were deleted.
  Rewritten merged;
  std::int64_t snapshots_expired = 0;
  std::vector<SkippedStep> skipped;
};

struct CompactionJob {
  LakePlace place;
  LakeName name;
  std::vector<std::int64_t> expire;  ///< Snapshots.
  /// Called after each step that did something, on another thread.
  std::function<void(std::string_view step, std::int64_t count)> progress;
};

/// Safe from any thread.
class Compactor {
 public:
  explicit Compactor(LakeAccess access) : access_(std::move(access)) {}

  /// Whether the engine's extensions are configured.
  [[nodiscard]] bool available() const { return !access_.extensions.empty(); }

  /// Flushes, rewrites, merges and expires until nothing is left to do. A step
  /// that meets a concurrent commit is tried again, and then skipped; so is one
  /// that would take longer than until `context`'s deadline, or would touch a
  /// file outside of the lake's data path.
  /// Errors: kUnavailable  this process is compacting another table;
  ///         kUnsupported  not available(); kTooLarge, kInternal  as LakeSession;
  ///         what the steps before did stays.
  [[nodiscard]] base::Task<base::Result<CompactionDone>> run(base::RequestContext context,
                                                             CompactionJob job);

 private:
  const LakeAccess access_;
  std::atomic<bool> busy_ = false;
  base::BlockingPool thread_{1};
};

}  // namespace lake::exporter
