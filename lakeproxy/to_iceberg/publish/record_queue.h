#pragma once

// A publication is followed by rows that remember it. Nobody's answer needs them, since an
// unrecorded publication is made anew under the same names; written one by one they were half of
// PostgreSQL's transactions. So they wait a moment, and go together, of all tables of an event
// loop.

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "base/core/result.h"
#include "base/metrics/registry.h"
#include "base/postgres/session.h"
#include "base/runtime/task.h"
#include "lakeproxy/to_iceberg/publish/publication_records.h"

namespace lake::publish {

/// What follows a publication, and no answer waits for: the lake remembers it. Safe from any
/// thread.
class PendingRecord {
 public:
  /// `before`: of the publication that this one is built on, which may be unrecorded; or null.
  PendingRecord(ducklake::Published published, std::shared_ptr<PendingRecord> before);

  [[nodiscard]] const ducklake::Published& published() const { return published_; }
  [[nodiscard]] bool is_recorded() const { return state_ == State::kRecorded; }
  /// What was put is recorded nowhere, so gc may have removed it since: the publication must be
  /// made anew.
  [[nodiscard]] bool has_failed() const { return state_ == State::kFailed; }
  /// Of the publication that this one is built on; null once that is recorded.
  [[nodiscard]] std::shared_ptr<PendingRecord> before();

  void record();
  /// Nothing that is recorded fails.
  void fail();

 private:
  enum class State { kOpen, kFailed, kRecorded };

  const ducklake::Published published_;
  std::atomic<State> state_ = State::kOpen;
  std::mutex mutex_;
  std::shared_ptr<PendingRecord> before_;  // Guarded by mutex_.
};

/// How long a record may wait for others.
enum class RecordTime {
  kWithOthers,  ///< Nobody waits for it.
  kNow,         ///< Somebody does: it goes at once, and takes the waiting ones along.
};

struct RecordOptions {
  std::chrono::milliseconds wait{20};  ///< The longest time that a record waits for others.
  std::size_t publications = 64;       ///< So many do not wait.
  std::size_t most = 4096;             ///< Callers that wait at once.
};

/// One for the process.
struct RecordMetrics {
  explicit RecordMetrics(base::metrics::Registry& metrics);

  base::metrics::Counter transactions;
  base::metrics::Counter recorded;
  base::metrics::Counter stale;
  base::metrics::Counter failed;
  base::metrics::Gauge waiting;
};

/// Used from one event loop. Outlives the tasks of record(); whoever ends the process waits for
/// these, and nothing is left in the queue.
class RecordQueue {
 public:
  /// They outlive it.
  RecordQueue(base::pg::Pool& pool, const RecordMetrics& metrics, RecordOptions options = {});
  ~RecordQueue();

  /// Records a publication and those it is built on; returns when that is done. At
  /// most one connection is in use. It cannot be cancelled, since others may wait for it, and
  /// has a time of its own. After an error it has failed.
  /// Errors: kConflict with reason kStale  another server published something else: read the
  ///         table again; kUnavailable  too many wait; those of record_published().
  [[nodiscard]] base::Task<base::Status> record(std::shared_ptr<PendingRecord> pending,
                                                RecordTime time);
  /// From now on nothing waits: the process is about to end.
  void hurry();

 private:
  struct Batch;
  base::Task<void> lead(std::shared_ptr<Batch> batch);
  base::Task<void> write(Batch* batch);
  base::Task<base::Status> write_together(std::vector<PendingRecord*> all_pending);
  void give_up(Batch* batch, const std::vector<PendingRecord*>& all_pending,
               const base::Error& error);

  base::pg::Pool* pool_;
  const RecordMetrics* metrics_;
  RecordOptions options_;
  std::size_t waiting_ = 0;
  std::shared_ptr<Batch> open_;     ///< Takes more; null when there is none.
  std::shared_ptr<Batch> written_;  ///< On its way to PostgreSQL; null when there is none.
};

}  // namespace lake::publish
