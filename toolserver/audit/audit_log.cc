#include "toolserver/audit/audit_log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/core/text.h"
#include "base/json/canonical.h"

namespace tool::audit {
namespace {

namespace asio = boost::asio;
using base::json::Object;

// A file's first line and a gap may come before the line that was asked for.
constexpr std::uint64_t kOwnLines = 2;
constexpr std::uint64_t kSomeLines = 4096;  // Bytes; less is no room.
// Between two looks at the disk while it is full.
constexpr std::chrono::milliseconds kRetry{100};

boost::json::string text(std::string_view value) { return boost::json::string(value); }

std::string new_boot(base::Random& random) {
  std::array<std::uint8_t, 8> bytes{};
  random.fill(std::as_writable_bytes(std::span(bytes)));
  return base::to_hex(bytes);
}

// How many unsigned lines hold up the next writer.
std::uint64_t hold_at(const AuditOptions& options) {
  return options.checkpoint_records > kOwnLines ? options.checkpoint_records - kOwnLines : 1;
}

base::Error no_room() {
  return base::fail(base::ErrorKind::kUnavailable, "audit trail: no room for further calls");
}

Act act_of(const CallRecord& record) {
  std::string_view code = record.decision && record.decision->code
                              ? tool::name(*record.decision->code)
                              : std::string_view("ok");
  return {"call_refused", code, record.subject, record.issuer, record.peer};
}

}  // namespace

base::Result<std::unique_ptr<AuditLog>> AuditLog::open(AuditOptions options,
                                                       CheckpointSigner signer,
                                                       const base::Clock& clock,
                                                       base::Random& random) {
  ASSIGN_OR_RETURN(auto lock, FolderLock::take(options.folder));
  CheckpointKeys keys = options.old_keys;
  keys.add(signer);
  ASSIGN_OR_RETURN(auto recovered, recover(options.folder, keys));
  if (recovered.has_key_pair && !signer.has_key_pair()) {
    return base::fail(
        base::ErrorKind::kConflict,
        "audit.checkpoint_key_path: a key pair has signed this trail; it cannot go on "
        "with the shared secret, which proves less");
  }
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
      origin_(std::move(origin)),
      reserve_(options_.folder, options_.space.reserve) {}

AuditLog::~AuditLog() {
  if (!signing_.joinable()) return;
  {
    std::lock_guard held(mutex_);
    is_ending_ = true;
  }
  sign_wake_.notify_one();
  signing_.join();
  {
    std::lock_guard held(mutex_);
    has_signed_last_ = true;
  }
  sync_wake_.notify_one();
  syncing_.join();
}

base::Status AuditLog::begin(Recovered recovered) {
  head_ = recovered.head;
  torn_ = recovered.torn;
  if (lock_.tightened()) {
    notes_.push_back("the audit folder or a file in it was open to others; closed it to 0700/0600");
  }
  if (recovered.segment_path.empty()) {
    ASSIGN_OR_RETURN(auto segment, Segment::open(segment_path(options_.folder, head_.seq + 1),
                                                 Segment::Open::kNew));
    segment_ = std::make_shared<Segment>(std::move(segment));
  } else {
    ASSIGN_OR_RETURN(auto segment, Segment::open(recovered.segment_path, Segment::Open::kExisting));
    segment_ = std::make_shared<Segment>(std::move(segment));
  }
  if (options_.space.reserve > 0 && !reserve_.hold()) {
    notes_.push_back("the audit folder has no room for its reserve");
  }
  RETURN_IF_ERROR(append_own(start_line(recovered), Need::kEnd));
  RETURN_IF_ERROR(segment_->sync());
  look_at_space();
  signing_ = std::thread([this] { keep_signing(); });
  syncing_ = std::thread([this] { keep_syncing(); });
  return {};
}

// From the next checkpoint on this service vouches for all lines before it, so
// it says here which of them nobody had signed.
Object AuditLog::start_line(const Recovered& recovered) {
  Object start = frame("start");
  start["checkpoint_records"] = options_.checkpoint_records;
  Object& taken = start["unsigned"].emplace_object();
  taken["lines"] = recovered.unsigned_lines;
  if (recovered.unsigned_lines > 0) {
    taken["from"] = recovered.signed_seq + 1;
    taken["to"] = recovered.head.seq;
    notes_.push_back(fmt::format(
        "{} lines of the audit trail, in {} to {}, were not signed when the service ended; a crash "
        "leaves such lines, and so does a change of them",
        recovered.unsigned_lines, recovered.signed_seq + 1, recovered.head.seq));
  }
  if (torn_) {
    start["torn"] = torn_->bytes;
    notes_.push_back(fmt::format("the audit trail ended in half a line of {} bytes, kept in {}",
                                 torn_->bytes, torn_->side_file));
  }
  return start;
}

Object AuditLog::frame(std::string_view kind) const {
  return Object{{"boot", text(origin_.boot)},
                {"kind", text(kind)},
                {"node", text(origin_.node)},
                {"ts", text(time_text(clock_.now()))}};
}

base::Result<std::uint64_t> AuditLog::open_call(const CallRecord& record) {
  OpenLine line = open_line(record, RecordKind::kOpen, origin_);
  std::unique_lock held(mutex_);
  RETURN_IF_ERROR(append(held, line, Need::kBegin));
  return head_.seq;
}

base::Task<base::Result<AuditReceipt>> AuditLog::seal(CallRecord record) {
  OpenLine line = open_line(record, RecordKind::kSeal, origin_);
  bool is_answered = record.decision && !record.decision->code;
  Need need = record.open_seq > 0 ? Need::kEnd : Need::kBegin;
  auto loop = co_await asio::this_coro::executor;
  std::shared_ptr<Waiter> waiter;
  AuditReceipt receipt;
  {
    std::unique_lock held(mutex_);
    CO_RETURN_IF_ERROR(append(held, line, need));
    receipt = receipt_of_head();
    if (options_.durability == Durability::kSynced) {
      waiter = std::make_shared<Waiter>(loop, segment_);
      waiting_.push_back(waiter);
    }
  }
  if (waiter) {
    sync_wake_.notify_one();
    // A cancellation ends one wait and leaves its mark for the caller; the
    // syncing thread ends the last.
    bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    while (!waiter->status) co_await waiter->timer.async_wait(asio::as_tuple(asio::use_awaitable));
    co_await asio::this_coro::throw_if_cancelled(throws);
    CO_RETURN_IF_ERROR(*waiter->status);
  }
  if (is_answered) CO_RETURN_IF_ERROR(signer_.sign(receipt, origin_.node));
  co_return receipt;
}

void AuditLog::refuse(const CallRecord& record) {
  Act act = act_of(record);
  auto now = clock_.now();
  std::unique_lock held(mutex_);
  if (space_.state == SpaceState::kEnough && summaries_.admit(act, now)) {
    OpenLine line = open_line(record, RecordKind::kSeal, origin_);
    if (append(held, line, Need::kBegin)) return;
  }
  summaries_.count(act, now);
  sign_wake_.notify_one();
}

void AuditLog::note(const Act& act, Object details) {
  auto now = clock_.now();
  // A name in a certificate may be no text at all.
  if (!base::json::canonical(details)) details = Object{{"code", text(act.code)}};
  std::unique_lock held(mutex_);
  if (space_.state == SpaceState::kEnough && summaries_.admit(act, now)) {
    if (append_event(held, act.what, std::move(details))) return;
  }
  summaries_.count(act, now);
  sign_wake_.notify_one();
}

base::Result<AuditReceipt> AuditLog::event(std::string_view what, Object details) {
  auto canonical = base::json::canonical(details);
  if (!canonical) return canonical.error();
  std::unique_lock held(mutex_);
  return append_event(held, what, std::move(details));
}

base::Result<AuditReceipt> AuditLog::append_event(std::unique_lock<std::mutex>& held,
                                                  std::string_view what, Object details) {
  Object members = frame("event");
  members["event"] = text(what);
  members["details"] = std::move(details);
  RETURN_IF_ERROR(wait_for_signature(held));
  RETURN_IF_ERROR(make_room(Need::kBegin));
  RETURN_IF_ERROR(append_own(std::move(members), Need::kBegin));
  return receipt_of_head();
}

AuditReceipt AuditLog::head() const {
  std::lock_guard held(mutex_);
  return receipt_of_head();
}

AuditReceipt AuditLog::receipt_of_head() const {
  return {head_.seq, head_.hash_text(), {}, {}, {}};
}

std::uint64_t AuditLog::lost() const {
  std::lock_guard held(mutex_);
  return lost_;
}

// The chain moves on only with the file: a line that could not be written has
// no place in it.
base::Status AuditLog::write(const ChainHead& next, std::string_view line, Need need) {
  auto status = write_bytes(line, need);
  if (!status) {
    ++lost_;
    return status;
  }
  advance(next);
  return {};
}

// The reserve is for what ends something. Once it is in use nothing begins
// until there is room for it again.
base::Status AuditLog::write_bytes(std::string_view line, Need need) {
  if (!has_room(line.size(), need)) {
    now_full();
    return no_room();
  }
  auto status = segment_->append(line);
  if (!status && need == Need::kEnd && reserve_.is_held()) {
    reserve_.release();
    is_reserve_spent_ = true;
    status = segment_->append(line);
  }
  if (!status) {
    now_full();
    return status;
  }
  space_.trail_bytes += line.size();
  if (space_.state == SpaceState::kFull && !is_reserve_spent_) space_.state = SpaceState::kLow;
  return {};
}

bool AuditLog::fits(std::uint64_t bytes, Need need) const {
  if (need == Need::kBegin && is_reserve_spent_) return false;
  std::uint64_t most = options_.space.max_bytes;
  if (most == 0) return true;
  if (need == Need::kBegin) most -= std::min(most / 10, options_.space.reserve);
  return space_.trail_bytes + bytes <= most;
}

bool AuditLog::has_room(std::uint64_t bytes, Need need) {
  if (fits(bytes, need)) return true;
  if (Steady::now() - looked_at_ >= kRetry) look_at_space();
  return fits(bytes, need);
}

void AuditLog::look_at_space() {
  looked_at_ = Steady::now();
  if (is_reserve_spent_ && reserve_.hold()) is_reserve_spent_ = false;
  auto space = measure_space(options_.folder, options_.space);
  if (!space) return;  // The write itself says what is wrong.
  space_ = *space;
  if (!fits(kSomeLines, Need::kBegin) || space_.free_bytes < kSomeLines) {
    space_.state = SpaceState::kFull;
  }
}

void AuditLog::now_full() {
  if (space_.state == SpaceState::kFull) return;
  space_.state = SpaceState::kFull;
  tells_space_ = true;
  sync_wake_.notify_one();
}

void AuditLog::advance(const ChainHead& next) {
  head_ = next;
  bool is_first = unsigned_lines_++ == 0;
  if (is_first) sign_at_ = Steady::now() + options_.checkpoint_interval;
  bool is_due = unsigned_lines_ == (options_.checkpoint_records + 1) / 2;
  if (is_due) sign_at_ = Steady::now();
  if (is_first || is_due) sign_wake_.notify_one();
}

// However slow the disk is and however fast lines come, no more of them than
// the options say are without a signature.
base::Status AuditLog::wait_for_signature(std::unique_lock<std::mutex>& held) {
  while (unsigned_lines_ >= hold_at(options_)) {
    std::uint64_t tries = sign_tries_;
    std::uint64_t failures = sign_failures_;
    sign_at_ = Steady::now();
    sign_wake_.notify_one();
    signed_.wait(held, [&] { return sign_tries_ != tries; });
    if (sign_failures_ == failures || unsigned_lines_ < hold_at(options_)) continue;
    ++lost_;
    return base::fail(base::ErrorKind::kUnavailable, "audit trail: lines cannot be signed");
  }
  return {};
}

base::Status AuditLog::append_own(Object members, Need need) {
  ChainHead next = head_;
  std::string line;
  link(next, std::move(members), line);
  return write(next, line, need);
}

base::Status AuditLog::append(std::unique_lock<std::mutex>& held, const OpenLine& open, Need need) {
  RETURN_IF_ERROR(wait_for_signature(held));
  RETURN_IF_ERROR(make_room(need));
  ChainHead next = head_;
  std::string line;
  link(next, open, line);
  return write(next, line, need);
}

// A full file is left behind, and what was lost is said first.
base::Status AuditLog::make_room(Need need) {
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
    RETURN_IF_ERROR(append_own(std::move(gap), need));
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

}  // namespace tool::audit
