#pragma once

// A call that nobody can find again later must not happen. The log writes a
// line before a tool runs and another before the caller has its answer, links
// both into the chain, and says "written" only when they are.
//
// How much "written" promises is a setting: kWritten returns when the kernel
// has the line, which outlives the process but not a power cut; kSynced when
// the disk has it. Many calls share one sync.
// Source: docs/wire-3.0.md, "Audit record"; docs/adr/0016-audit-durability.md.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/runtime/task.h"
#include "toolserver/audit/chain.h"
#include "toolserver/audit/checkpoint.h"
#include "toolserver/audit/record.h"
#include "toolserver/audit/recovery.h"
#include "toolserver/audit/segment.h"

namespace tool::audit {

enum class Durability : std::uint8_t { kWritten, kSynced };

struct AuditOptions {
  std::string folder;
  std::string node;
  Durability durability = Durability::kWritten;
  std::uint64_t segment_bytes = 64 << 20;  ///< A line more than this begins a new file.
  std::uint64_t checkpoint_records = 1'000;
  std::chrono::milliseconds checkpoint_interval{10'000};
};

/// Owns the folder and one thread, which syncs and signs. Safe to use from any
/// thread. The destructor writes a last checkpoint; nobody may wait in seal().
class AuditLog {
 public:
  /// Recovers what a crash left and writes a "start" line. Blocks.
  /// Errors: kCorrupt  the trail is broken, see recover(); kConflict  another
  ///         process writes there; kUnavailable  the folder cannot be used.
  [[nodiscard]] static base::Result<std::unique_ptr<AuditLog>> open(AuditOptions options,
                                                                    CheckpointSigner signer,
                                                                    const base::Clock& clock,
                                                                    base::Random& random);
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  /// Writes the line that opens a call; returns its seq. It is durable no later
  /// than the call's seal.
  /// Errors: kUnavailable  it cannot be written; nothing of it is in the trail.
  [[nodiscard]] base::Result<std::uint64_t> open_call(const CallRecord& record);

  /// Writes the line that ends a call, or that refuses one, and returns when it
  /// is as durable as the options ask. Cancellation does not end the wait.
  /// Errors: kUnavailable  it cannot be written, or its sync failed.
  [[nodiscard]] base::Task<base::Result<AuditReceipt>> seal(CallRecord record);

  /// Writes an event of the service's own, such as the approval of a tool.
  /// Durable with the next checkpoint or sync. `what` is a literal of [a-z_].
  /// Errors: kUnavailable  it cannot be written; kInvalid  `details` has no
  /// canonical form.
  [[nodiscard]] base::Result<AuditReceipt> event(std::string_view what, base::json::Object details);

  /// The last line that was written.
  [[nodiscard]] AuditReceipt head() const;
  /// What was cut off at the start.
  [[nodiscard]] const std::optional<TornTail>& torn() const { return torn_; }
  /// Lines that could not be written since the start.
  [[nodiscard]] std::uint64_t lost() const;

 private:
  using Steady = std::chrono::steady_clock;
  // A sealed record whose sync has not come yet.
  struct Waiter;

  AuditLog(AuditOptions options, CheckpointSigner signer, const base::Clock& clock, FolderLock lock,
           Origin origin);
  base::Status begin(Recovered recovered);
  base::Status start_segment();
  base::json::Object frame(std::string_view kind) const;
  base::Result<AuditReceipt> append(const LineParts& parts);
  base::Status append_own(base::json::Object members);
  base::Status make_room();
  base::Status write(const ChainHead& next, std::string_view line);
  void advance(const ChainHead& next);

  void keep();
  void sync_waiting(std::unique_lock<std::mutex>& held);
  void checkpoint(std::unique_lock<std::mutex>& held);

  const AuditOptions options_;
  const CheckpointSigner signer_;
  const base::Clock& clock_;
  const FolderLock lock_;
  const Origin origin_;
  std::optional<TornTail> torn_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  // Shared with a sync that runs while the log moves on to a new file.
  std::shared_ptr<Segment> segment_;
  ChainHead head_;
  bool needs_segment_ = false;  // After a failed sync this file is not trusted.
  std::uint64_t lost_ = 0;
  std::uint64_t lost_noted_ = 0;  // Of them, in "gap" lines.
  std::uint64_t unsigned_lines_ = 0;
  Steady::time_point sign_at_ = Steady::time_point::max();
  std::vector<std::shared_ptr<Waiter>> waiting_;
  bool is_ending_ = false;
  std::thread keeper_;  // Last: it uses all of the above.
};

}  // namespace tool::audit
