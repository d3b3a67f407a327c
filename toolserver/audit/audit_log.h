#pragma once

// A call that nobody can find again later must not happen. The log writes a
// line before a tool runs and another before the caller has its answer, links
// both into the chain, and says "written" only when they are.
//
// How much "written" promises is a setting: kWritten returns when the kernel
// has the line, which outlives the process but not a power cut; kSynced when
// the disk has it. Many calls share one sync.
// Source: docs/wire-3.0.md, "Audit record"; docs/adr/0016-audit-durability.md.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
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
#include "toolserver/audit/space.h"
#include "toolserver/audit/summaries.h"

namespace tool::audit {

enum class Durability : std::uint8_t { kWritten, kSynced };

struct AuditOptions {
  std::string folder;
  std::string node;
  Durability durability = Durability::kWritten;
  std::uint64_t segment_bytes = 64 << 20;  ///< A line more than this begins a new file.
  /// The most lines that stand without a signature: half of them ask for a
  /// checkpoint, and at all of them a writer waits for it.
  std::uint64_t checkpoint_records = 1'000;
  std::chrono::milliseconds checkpoint_interval{10'000};
  CheckpointKeys old_keys;  ///< That signed the trail in former times.
  SpaceLimits space;
  std::chrono::milliseconds space_interval{5'000};  ///< Between two looks at the disk.
  /// Called by a thread of the log, never two at once. `on_space` gets each look
  /// at the disk; `on_checkpoint` each checkpoint's line as it was written.
  std::function<void(const Space&)> on_space;
  std::function<void(std::string)> on_checkpoint;
};

/// Owns the folder and two threads: one signs, one syncs, so that a slow disk
/// does not put off signatures. Safe to use from any thread. The destructor
/// writes a last checkpoint; nobody may wait in seal().
class AuditLog {
 public:
  /// Recovers what a crash left and writes a "start" line. Blocks.
  /// Errors: kCorrupt  the trail is broken, see recover(); kConflict  another
  ///         process writes there, or the trail has signatures of a key pair
  ///         and the signer has none; kUnavailable  the folder cannot be used.
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

  /// Writes the line that ends a call and returns when it is as durable as the
  /// options ask. Cancellation does not end the wait. The receipt of a call that
  /// was answered is signed.
  /// Errors: kUnavailable  it cannot be written, or its sync failed.
  [[nodiscard]] base::Task<base::Result<AuditReceipt>> seal(CallRecord record);

  /// Records a call that was refused before it was authorised: by a line, or
  /// by a count in the next summary, as Summaries decides. A line that cannot
  /// be written is counted too.
  void refuse(const CallRecord& record);
  /// The same for what is no call: a login, its refusal, a session's end.
  /// `details` is the line's; without a canonical form only the code is written.
  void note(const Act& act, base::json::Object details);

  /// Writes an event of the service's own, such as a reload. Durable with the
  /// next checkpoint or sync. `what` is a literal of [a-z_].
  /// Errors: kUnavailable  it cannot be written; kInvalid  `details` has no
  /// canonical form.
  [[nodiscard]] base::Result<AuditReceipt> event(std::string_view what, base::json::Object details);

  /// "hmac-sha256:" and 64 hexadecimal digits: tells equal arguments, by their
  /// digest, and cannot be guessed without the trail's key.
  [[nodiscard]] std::string arguments_mac(std::string_view args_digest) const {
    return signer_.arguments_mac(args_digest);
  }

  /// The last line that was written.
  [[nodiscard]] AuditReceipt head() const;
  /// What was cut off at the start.
  [[nodiscard]] const std::optional<TornTail>& torn() const { return torn_; }
  /// What an operator should know of the start: sentences without secrets.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// Lines that could not be written since the start.
  [[nodiscard]] std::uint64_t lost() const;

 private:
  using Steady = std::chrono::steady_clock;
  // A sealed record whose sync has not come yet. Lives on the event loop of its
  // call; only `status` is set from the syncing thread, by a task that it posts
  // there.
  struct Waiter {
    Waiter(boost::asio::any_io_executor loop, std::shared_ptr<Segment> written)
        : timer(std::move(loop), Steady::time_point::max()), segment(std::move(written)) {}
    boost::asio::steady_timer timer;
    std::shared_ptr<Segment> segment;
    std::optional<base::Status> status;
  };
  // What a line may take of the disk: the end of something may take the reserve.
  enum class Need : std::uint8_t { kBegin, kEnd };

  AuditLog(AuditOptions options, CheckpointSigner signer, const base::Clock& clock, FolderLock lock,
           Origin origin);
  base::Status begin(Recovered recovered);
  base::json::Object start_line(const Recovered& recovered);
  base::Status start_segment();
  base::json::Object frame(std::string_view kind) const;
  base::Status wait_for_signature(std::unique_lock<std::mutex>& held);
  base::Status append(std::unique_lock<std::mutex>& held, const OpenLine& open, Need need);
  base::Status append_own(base::json::Object members, Need need);
  [[nodiscard]] AuditReceipt receipt_of_head() const;  // Unsigned; called under the mutex.
  base::Result<AuditReceipt> append_event(std::unique_lock<std::mutex>& held, std::string_view what,
                                          base::json::Object details);
  base::Status make_room(Need need);
  base::Status write(const ChainHead& next, std::string_view line, Need need);
  base::Status write_bytes(std::string_view line, Need need);
  [[nodiscard]] bool fits(std::uint64_t bytes, Need need) const;
  [[nodiscard]] bool has_room(std::uint64_t bytes, Need need);
  void advance(const ChainHead& next);
  void look_at_space();
  void now_full();

  void keep_signing();
  void checkpoint(std::unique_lock<std::mutex>& held);
  void write_summaries();
  void keep_syncing();
  void sync_waiting(std::unique_lock<std::mutex>& held);
  void watch_space(std::unique_lock<std::mutex>& held);

  const AuditOptions options_;
  const CheckpointSigner signer_;
  const base::Clock& clock_;
  const FolderLock lock_;
  const Origin origin_;
  std::optional<TornTail> torn_;
  std::vector<std::string> notes_;

  mutable std::mutex mutex_;
  std::condition_variable sign_wake_;
  std::condition_variable sync_wake_;
  std::condition_variable signed_;  // An attempt to sign has ended.
  // Shared with a sync that runs while the log moves on to a new file.
  std::shared_ptr<Segment> segment_;
  ChainHead head_;
  bool needs_segment_ = false;  // After a failed sync this file is not trusted.
  std::uint64_t lost_ = 0;
  std::uint64_t lost_noted_ = 0;      // Of them, in "gap" lines.
  std::uint64_t unsigned_lines_ = 0;  // After the last covered one, without checkpoints.
  std::uint64_t sign_tries_ = 0;
  std::uint64_t sign_failures_ = 0;  // Of them.
  Steady::time_point sign_at_ = Steady::time_point::max();
  Summaries summaries_;
  Reserve reserve_;
  bool is_reserve_spent_ = false;
  Space space_;
  bool tells_space_ = false;  // The state has changed.
  Steady::time_point looked_at_;
  std::vector<std::shared_ptr<Waiter>> waiting_;
  bool wants_sync_ = false;  // After a checkpoint.
  bool is_ending_ = false;
  bool has_signed_last_ = false;
  std::thread signing_;  // Last: they use all of the above.
  std::thread syncing_;
};

}  // namespace tool::audit
