#pragma once

// One table of one lake is made small at a time: the engine that does it has
// its own memory, so the process's bound is that of one compaction.

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "base/runtime/workers.h"
#include "lakeproxy/maintenance/compaction/lake_session.h"

namespace lake::exporter {

/// The steps of a compaction, in their order; those of DuckDB come again in each
/// round. Whatever happens at one of them, every reader sees all rows, and the
/// next compaction goes on. tests/faults stops and kills a server at each; the
/// numbers go on from those of a commit, ducklake::CommitStep.
enum class CompactionStep {
  kLocked = 11,     ///< Nobody else compacts the table.
  kFlushed = 12,    ///< Rows of PostgreSQL are in files.
  kRewritten = 13,  ///< Files of which many rows were deleted are written anew.
  kMerged = 14,     ///< Some small files are one.
  kExpired = 15,    ///< Snapshots that the lake's option lets go are gone.
  kPublished = 16,  ///< Clients are told of the new files alone.
  kRemoved = 17,    ///< A page of old files is gone from the store.
  kForgotten = 18,  ///< And from the lake's list of what is to be removed.
};

/// Called at each step, on whichever thread is there; it may block. The server
/// has none; see ADR 0012.
using CompactionWatch = std::function<void(CompactionStep step)>;

/// Tells the watch, if there is one.
inline void reached(const CompactionWatch* watch, CompactionStep step) {
  if (watch != nullptr) (*watch)(step);
}

/// What was left undone, and why; a later compaction does it.
struct SkippedStep {
  std::string step;
  std::string reason;
  std::string detail;  ///< For logs only; may be empty.
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
  const CompactionWatch* watch = nullptr;  ///< May be null.
};

/// Safe from any thread.
class Compactor {
 public:
  explicit Compactor(LakeAccess access) : access_(std::move(access)) {}

  /// Whether the engine's extensions are configured.
  [[nodiscard]] bool available() const { return !access_.extensions.empty(); }

  /// The only one of the process that may run(), until it goes.
  struct Leave {
    void operator()(std::atomic<bool>* busy) const { *busy = false; }
  };
  using Place = std::unique_ptr<std::atomic<bool>, Leave>;
  /// To be entered before anything is taken that others wait for.
  /// Errors: kUnavailable  this process is compacting another table; kUnsupported  not
  ///         available().
  [[nodiscard]] base::Result<Place> enter();

  /// Flushes, rewrites, merges and expires until nothing is left to do. `place` outlives the task.
  /// A step that meets a concurrent commit is tried again, and then skipped; so is one that would
  /// take longer than until `context`'s deadline, would touch a file outside of the lake's data
  /// path, or meets a defect of DuckDB or would. Errors: kTooLarge, kInternal  as LakeSession; what
  /// the steps before did stays.
  [[nodiscard]] base::Task<base::Result<CompactionDone>> run(base::RequestContext context,
                                                             const Place* place, CompactionJob job);

 private:
  const LakeAccess access_;
  std::atomic<bool> busy_ = false;
  base::BlockingPool thread_{1};
};

}  // namespace lake::exporter
