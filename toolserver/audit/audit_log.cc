#include "toolserver/audit/audit_log.h"

#include <unistd.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/core/text.h"
#include "base/json/canonical.h"

namespace tool::audit {
namespace {

namespace asio = boost::asio;
using base::json::Object;

boost::json::string text(std::string_view value) { return boost::json::string(value); }

std::string new_boot(base::Random& random) {
  std::array<std::uint8_t, 8> bytes{};
  random.fill(std::as_writable_bytes(std::span(bytes)));
  return base::to_hex(bytes);
}

base::Status sync_all(const std::vector<std::shared_ptr<Segment>>& segments) {
  for (const auto& segment : segments) RETURN_IF_ERROR(segment->sync());
  return {};
}

}  // namespace

// Lives on the event loop of its call; only `status` is set from the keeper,
// by a task that it posts there.
struct AuditLog::Waiter {
  Waiter(asio::any_io_executor loop, std::shared_ptr<Segment> written)
      : timer(std::move(loop), Steady::time_point::max()), segment(std::move(written)) {}
  asio::steady_timer timer;
  std::shared_ptr<Segment> segment;
  std::optional<base::Status> status;
};

base::Result<std::unique_ptr<AuditLog>> AuditLog::open(AuditOptions options,
                                                       CheckpointSigner signer,
                                                       const base::Clock& clock,
                                                       base::Random& random) {
  ASSIGN_OR_RETURN(auto lock, FolderLock::take(options.folder));
  ASSIGN_OR_RETURN(auto recovered, recover(options.folder));
  Origin origin{options.node, new_boot(random)};
  std::unique_ptr<AuditLog> log(new AuditLog(std::move(options), std::move(signer), clock,
                                             std::move(lock), std::move(origin)));
  RETURN_IF_ERROR(log->begin(std::move(recovered)));
  return log;
}

AuditLog::AuditLog(AuditOptions options, CheckpointSigner signer, const base::Clock& clock,
                   FolderLock lock, Origin origin)
    : options_(std::move(options)),
      signer_(std::move(signer)),
      clock_(clock),
      lock_(std::move(lock)),
      origin_(std::move(origin)) {}

AuditLog::~AuditLog() {
  if (!keeper_.joinable()) return;
  {
    std::lock_guard held(mutex_);
    is_ending_ = true;
  }
  wake_.notify_one();
  keeper_.join();
}

base::Status AuditLog::begin(Recovered recovered) {
  head_ = recovered.head;
  torn_ = recovered.torn;
  if (recovered.segment_path.empty()) {
    ASSIGN_OR_RETURN(auto segment, Segment::open(segment_path(options_.folder, head_.seq + 1),
                                                 Segment::Open::kNew));
    segment_ = std::make_shared<Segment>(std::move(segment));
  } else {
    ASSIGN_OR_RETURN(auto segment, Segment::open(recovered.segment_path, Segment::Open::kExisting));
    segment_ = std::make_shared<Segment>(std::move(segment));
  }
  Object start = frame("start");
  if (torn_) start["torn"] = torn_->bytes;
  RETURN_IF_ERROR(append_own(std::move(start)));
  RETURN_IF_ERROR(segment_->sync());
  keeper_ = std::thread([this] { keep(); });
  return {};
}

Object AuditLog::frame(std::string_view kind) const {
  return Object{{"boot", text(origin_.boot)},
                {"kind", text(kind)},
                {"node", text(origin_.node)},
                {"ts", text(time_text(clock_.now()))}};
}

base::Result<std::uint64_t> AuditLog::open_call(const CallRecord& record) {
  LineParts parts = line_parts(record, RecordKind::kOpen, origin_);
  std::lock_guard held(mutex_);
  ASSIGN_OR_RETURN(auto receipt, append(parts));
  return receipt.seq;
}

base::Task<base::Result<AuditReceipt>> AuditLog::seal(CallRecord record) {
  LineParts parts = line_parts(record, RecordKind::kSeal, origin_);
  auto loop = co_await asio::this_coro::executor;
  std::shared_ptr<Waiter> waiter;
  AuditReceipt receipt;
  {
    std::lock_guard held(mutex_);
    CO_ASSIGN_OR_RETURN(receipt, append(parts));
    if (options_.durability == Durability::kWritten) co_return receipt;
    waiter = std::make_shared<Waiter>(loop, segment_);
    waiting_.push_back(waiter);
  }
  wake_.notify_one();
  // A cancellation ends one wait and leaves its mark for the caller; the keeper
  // ends the last.
  bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  while (!waiter->status) co_await waiter->timer.async_wait(asio::as_tuple(asio::use_awaitable));
  co_await asio::this_coro::throw_if_cancelled(throws);
  CO_RETURN_IF_ERROR(*waiter->status);
  co_return receipt;
}

base::Result<AuditReceipt> AuditLog::event(std::string_view what, Object details) {
  auto canonical = base::json::canonical(details);
  if (!canonical) return canonical.error();
  Object members = frame("event");
  members["event"] = text(what);
  members["details"] = std::move(details);
  std::lock_guard held(mutex_);
  RETURN_IF_ERROR(make_room());
  RETURN_IF_ERROR(append_own(std::move(members)));
  return AuditReceipt{head_.seq, head_.hash_text()};
}

AuditReceipt AuditLog::head() const {
  std::lock_guard held(mutex_);
  return {head_.seq, head_.hash_text()};
}

std::uint64_t AuditLog::lost() const {
  std::lock_guard held(mutex_);
  return lost_;
}

// The chain moves on only with the file: a line that could not be written has
// no place in it.
base::Status AuditLog::write(const ChainHead& next, std::string_view line) {
  auto status = segment_->append(line);
  if (!status) {
    ++lost_;
    return status;
  }
  advance(next);
  return {};
}

void AuditLog::advance(const ChainHead& next) {
  head_ = next;
  bool is_first = unsigned_lines_++ == 0;
  if (is_first) sign_at_ = Steady::now() + options_.checkpoint_interval;
  bool is_full = unsigned_lines_ == options_.checkpoint_records;
  if (is_full) sign_at_ = Steady::now();
  if (is_first || is_full) wake_.notify_one();
}

base::Status AuditLog::append_own(Object members) {
  ChainHead next = head_;
  std::string line;
  link(next, std::move(members), line);
  return write(next, line);
}

base::Result<AuditReceipt> AuditLog::append(const LineParts& parts) {
  RETURN_IF_ERROR(make_room());
  ChainHead next = head_;
  std::string line;
  link(next, parts, line);
  RETURN_IF_ERROR(write(next, line));
  return AuditReceipt{head_.seq, head_.hash_text()};
}

// A full file is left behind, and what was lost is said first.
base::Status AuditLog::make_room() {
  if (needs_segment_ || segment_->size() >= options_.segment_bytes) {
    auto status = start_segment();
    if (!status) {
      ++lost_;
      return status;
    }
  }
  if (lost_ > lost_noted_) {
    std::uint64_t lost = lost_;
    Object gap = frame("gap");
    gap["lost"] = lost - lost_noted_;
    RETURN_IF_ERROR(append_own(std::move(gap)));
    lost_noted_ = lost;
  }
  return {};
}

base::Status AuditLog::start_segment() {
  // Opening lines in the old file belong to calls that are sealed in the new.
  if (options_.durability == Durability::kSynced && !needs_segment_) {
    RETURN_IF_ERROR(segment_->sync());
  }
  std::string path = segment_path(options_.folder, head_.seq + 1);
  ASSIGN_OR_RETURN(auto opened, Segment::open(path, Segment::Open::kNew));
  auto segment = std::make_shared<Segment>(std::move(opened));
  ChainHead next = head_;
  std::string line;
  link(next, frame("rotate"), line);
  if (auto status = segment->append(line); !status) {
    ::unlink(path.c_str());  // The name must be free for the next try.
    return status;
  }
  segment_ = std::move(segment);
  needs_segment_ = false;
  advance(next);
  return {};
}

void AuditLog::keep() {
  std::unique_lock held(mutex_);
  while (!is_ending_ || !waiting_.empty() || unsigned_lines_ > 0) {
    if (!waiting_.empty()) {
      sync_waiting(held);
    } else if (unsigned_lines_ > 0 && (is_ending_ || Steady::now() >= sign_at_)) {
      checkpoint(held);
    } else if (unsigned_lines_ > 0) {
      wake_.wait_until(held, sign_at_);
    } else {
      wake_.wait(held);
    }
  }
}

// Group commit: whoever sealed while the last sync ran shares the next one.
void AuditLog::sync_waiting(std::unique_lock<std::mutex>& held) {
  if (waiting_.empty()) return;
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

// Signs without the lock, since a signature may take milliseconds: lines that
// are written meanwhile stand between the head it covers and the checkpoint.
// Then syncs, which bounds what a power cut can take from a trail that is only
// "written".
void AuditLog::checkpoint(std::unique_lock<std::mutex>& held) {
  ChainHead covered = head_;
  std::uint64_t lines = unsigned_lines_;
  held.unlock();
  auto signed_line = signer_.sign(covered, origin_, clock_.now());
  held.lock();
  if (signed_line && append_own(std::move(*signed_line))) {
    unsigned_lines_ -= lines;
    if (unsigned_lines_ == 1) unsigned_lines_ = 0;  // It asks for no other one.
  } else if (is_ending_) {
    unsigned_lines_ = 0;  // No more time; verify() shows the lines without signature.
  }
  bool is_full = unsigned_lines_ < lines && unsigned_lines_ >= options_.checkpoint_records;
  sign_at_ = Steady::now();
  if (!is_full) sign_at_ += options_.checkpoint_interval;
  auto segment = segment_;
  held.unlock();
  bool is_synced = segment->sync().has_value();
  held.lock();
  if (!is_synced && segment == segment_) needs_segment_ = true;
}

}  // namespace tool::audit
