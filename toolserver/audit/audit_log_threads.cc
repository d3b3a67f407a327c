// What the two threads of the log do: signatures and summaries by one, syncs and
// looks at the disk by the other, since both of these may take long.

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "toolserver/audit/audit_log.h"

namespace tool::audit {
namespace {

namespace asio = boost::asio;

// Between two looks whether a summary is due.
constexpr std::chrono::milliseconds kSummaryPause{500};

base::Status sync_all(const std::vector<std::shared_ptr<Segment>>& segments) {
  for (const auto& segment : segments) RETURN_IF_ERROR(segment->sync());
  return {};
}

}  // namespace

void AuditLog::keep_signing() {
  std::unique_lock held(mutex_);
  while (!is_ending_ || unsigned_lines_ > 0 || summaries_.has_counts()) {
    if (is_ending_) summaries_.end();
    auto wake_at = unsigned_lines_ > 0 ? sign_at_ : Steady::time_point::max();
    if (summaries_.has_counts()) {
      write_summaries();
      wake_at = std::min(wake_at, Steady::now() + kSummaryPause);
    }
    if (unsigned_lines_ > 0 && (is_ending_ || Steady::now() >= sign_at_)) {
      checkpoint(held);
    } else if (is_ending_) {
      continue;
    } else if (wake_at == Steady::time_point::max()) {
      sign_wake_.wait(held);
    } else {
      sign_wake_.wait_until(held, wake_at);
    }
  }
}

// Counts whose line cannot be written stay; only an end takes them along. Stops
// where a signature is due, which this thread has to make.
void AuditLog::write_summaries() {
  auto now = clock_.now();
  while (unsigned_lines_ == 0 || 2 * unsigned_lines_ < options_.checkpoint_records) {
    auto details = summaries_.next_due(now);
    if (!details) return;
    base::json::Object members = frame("event");
    members["event"] = "summary";
    members["details"] = std::move(*details);
    bool is_written = make_room(Need::kBegin) && append_own(std::move(members), Need::kBegin);
    if (!is_written && !is_ending_) return;
    summaries_.written(now);
  }
}

// Signs without the lock, since a signature may take milliseconds: lines that
// are written meanwhile stand between the head it covers and the checkpoint.
void AuditLog::checkpoint(std::unique_lock<std::mutex>& held) {
  ChainHead covered = head_;
  std::uint64_t lines = unsigned_lines_;
  held.unlock();
  auto signed_line = signer_.sign(covered, origin_, clock_.now());
  held.lock();
  std::string written;
  if (signed_line) {
    ChainHead next = head_;
    link(next, std::move(*signed_line), written);
    if (!write(next, written, Need::kEnd)) written.clear();
  }
  if (!written.empty()) {
    unsigned_lines_ -= lines + 1;  // It asks for no other one.
  } else {
    ++sign_failures_;
    if (is_ending_) unsigned_lines_ = 0;  // No more time; verify() shows the unsigned lines.
  }
  ++sign_tries_;
  signed_.notify_all();
  bool is_due = unsigned_lines_ < lines && 2 * unsigned_lines_ >= options_.checkpoint_records;
  sign_at_ = Steady::now();
  if (!is_due) sign_at_ += options_.checkpoint_interval;
  // Bounds what a power cut can take from a trail that is only "written".
  wants_sync_ = true;
  sync_wake_.notify_one();
  if (written.empty() || !options_.on_checkpoint) return;
  held.unlock();
  options_.on_checkpoint(std::move(written));
  held.lock();
}

void AuditLog::keep_syncing() {
  std::unique_lock held(mutex_);
  auto look_at = Steady::now();
  while (!has_signed_last_ || wants_sync_ || !waiting_.empty()) {
    if (!waiting_.empty()) {
      sync_waiting(held);
    } else if (std::exchange(wants_sync_, false)) {
      auto segment = segment_;
      held.unlock();
      bool is_synced = segment->sync().has_value();
      held.lock();
      if (!is_synced && segment == segment_) needs_segment_ = true;
    } else if (tells_space_ || Steady::now() >= look_at) {
      watch_space(held);
      look_at = Steady::now() + options_.space_interval;
    } else {
      sync_wake_.wait_until(held, look_at);
    }
  }
}

// Group commit: whoever sealed while the last sync ran shares the next one.
void AuditLog::sync_waiting(std::unique_lock<std::mutex>& held) {
  auto waiting = std::exchange(waiting_, {});
  held.unlock();
  std::vector<std::shared_ptr<Segment>> segments;
  for (const auto& waiter : waiting) {
    if (segments.empty() || segments.back() != waiter->segment) segments.push_back(waiter->segment);
  }
  base::Status status = sync_all(segments);
  for (auto& waiter : waiting) {
    auto loop = waiter->timer.get_executor();
    asio::post(loop, [waiter = std::move(waiter), status] {
      waiter->status = status;
      waiter->timer.cancel();
    });
  }
  held.lock();
  // The kernel drops what it could not write and reports it once: a later sync
  // of the same file would lie.
  if (!status) needs_segment_ = true;
}

void AuditLog::watch_space(std::unique_lock<std::mutex>& held) {
  bool is_told = std::exchange(tells_space_, false);  // It is known to be full.
  if (!is_told) look_at_space();
  Space space = space_;
  if (!options_.on_space) return;
  held.unlock();
  options_.on_space(space);
  held.lock();
}

}  // namespace tool::audit
