#pragma once

// Lines that wait for the chain, of all event loops of the process. There is one chain, and each
// insert into it waits for a flush of PostgreSQL's log: loops that wrote for themselves would wait
// for one another's flushes. So one of them writes at a time, and what comes meanwhile goes into
// the next insert together, whichever loop it is of.
//
// Clients that were answered together soon ask again together. An insert that began with the first
// of them would leave the others to the one after it, and each request would wait for two. So an
// insert waits for as many as came lately, though no longer than the last one took, or half a
// millisecond.
//
// Reads come by the thousand. Those of one insert that say the same, but for time and request, are
// one line, which names the requests of all.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/runtime/task.h"
#include "lakeproxy/audit/audit_chain.h"
#include "lakeproxy/audit/audit_log.h"

namespace lake::audit {

/// One catalog's, of the process; safe from any thread. Held by those who wait.
class AuditBatches {
 public:
  struct Batch;
  /// The insert that a line is in. Whoever leads has to write: take() until nothing is left.
  struct Joined {
    std::shared_ptr<Batch> batch;
    bool leads = false;
  };

  /// Puts a line into the next insert. Errors: kUnavailable  too many requests wait.
  [[nodiscard]] base::Result<Joined> add(AuditLine line);
  /// The same for an answer to a read, at that time for that request.
  [[nodiscard]] base::Result<Joined> add_read(AuditRecord record, base::WallTime time,
                                              std::uint64_t request_id);
  /// Before take(): returns once as many are in the next insert as came lately, or after the time
  /// that the last insert took, half a millisecond at most.
  [[nodiscard]] static base::Task<void> gather(std::shared_ptr<AuditBatches> batches);
  /// The next insert, closed; null: nobody waits, and whoever asked leads no more.
  [[nodiscard]] std::shared_ptr<Batch> take();
  /// The lines of a batch that was taken, once.
  [[nodiscard]] static std::vector<AuditLine> lines_of(Batch& batch);
  /// The newest line, as far as is known here.
  [[nodiscard]] std::optional<ChainPlace> newest() const;
  /// Wakes those who wait. `written`: the newest line then, or why there is none.
  void finish(Batch& batch, const base::Result<ChainPlace>& written);
  /// Returns once the batch is written, or cannot be.
  /// Errors: kUnavailable  it may not be; kCancelled.
  [[nodiscard]] static base::Task<base::Status> wait(std::shared_ptr<AuditBatches> batches,
                                                     std::shared_ptr<Batch> batch);

 private:
  class Waiting;
  struct Wake;

  static void wake(std::shared_ptr<Wake> sleeper);
  Joined join_open();
  base::Status check_room() const;

  mutable std::mutex mutex_;
  std::shared_ptr<Batch> open_;  ///< Takes more; null when there is none.
  bool is_writing_ = false;      ///< Somebody leads.
  std::optional<ChainPlace> newest_;
  std::size_t expected_ = 0;         ///< Requests: of the last insert, and that waited for it.
  std::shared_ptr<Wake> gathering_;  ///< Of whoever gathers; null when there is none.
  std::chrono::steady_clock::time_point taken_;  ///< When the last insert began,
  std::chrono::steady_clock::duration took_{};   ///< and how long it took, half a
                                                 ///< millisecond at most.
};

}  // namespace lake::audit
