// How a connection ends: by a close of either side, by silence, or cut off.

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

#include "base/websocket/core.h"
#include "base/websocket/tls_facts.h"

namespace base::ws {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

void no_exception(std::exception_ptr error) {
  if (error) std::terminate();
}

}  // namespace

// ---- Ending ----

void Core::close(std::uint16_t code, std::string_view reason) {
  begin_close(End::kClosedHere, is_sendable(code) ? code : kCloseNormal, reason);
}

// Only the first reason to end counts.
void Core::begin_close(End end, std::uint16_t code, std::string_view reason) {
  if (closure_.end != End::kOpen) return;
  closure_ = {end, code, std::string(reason)};
  queue_pong();
  queue_.add(Opcode::kClose, close_payload(code, reason));
  close_began_ = steady_clock::now();
  arm(close_began_ + options_.close_time);
  schedule_flush();
}

void Core::abort() { cut(End::kClosedHere); }

// No close frame: there is nobody to read it, or no time.
void Core::cut(End end) {
  done_ = true;
  if (closure_.end == End::kOpen) {
    closure_ = {end, kCloseAbnormal, {}};
  }
  queue_.clear();
  if (!std::exchange(cut_, true) && stream_ != nullptr) stream_->abort();
  changed();
}

void Core::set_message_limit(std::size_t bytes, std::uint16_t code) {
  decoder_.set_message_limit(bytes);
  options_.too_large_code = is_sendable(code) ? code : kCloseTooLarge;
}

void Core::vouch() {
  if (stream_ != nullptr) stream_->vouch();
}

void Core::on_drain(std::function<void()> call) {
  if (stream_ != nullptr) stream_->on_drain(std::move(call));
}

Result<std::string> Core::exporter(std::string_view label, std::size_t length) const {
  if (!encrypted_) return fail(ErrorKind::kUnsupported, "the connection is not encrypted");
  if (stream_ == nullptr) return fail(ErrorKind::kInternal, "the connection has been torn down");
  return tls_exporter(stream_->tls(), label, length);
}

Result<std::string> Core::certificate_hash() const {
  if (!encrypted_) return fail(ErrorKind::kUnsupported, "the connection is not encrypted");
  if (stream_ == nullptr) return fail(ErrorKind::kInternal, "the connection has been torn down");
  return own_certificate_hash(stream_->tls());
}

void Core::drop() {
  begin_close(End::kClosedHere, kCloseNormal, "");
  if (owned_ && !dropped_) asio::co_spawn(executor_, finish(shared_from_this()), no_exception);
}

Task<void> Core::finish(std::shared_ptr<Core> self) {
  if (std::exchange(self->dropped_, true)) co_return;
  self->begin_close(End::kClosedHere, kCloseNormal, "");
  self->flush();
  while (self->writing_ && !self->cut_) co_await self->wait_for_change();
  // A receive() that somebody left behind reads no further.
  if (self->reading_) self->cut(End::kLost);
  while (!self->done_) (void)co_await receive(self);
  // The server closes the connection first: RFC 6455, section 7.1.1.
  while (self->owned_ && !self->cut_ && co_await self->fill()) self->unused_ = {};
  if (self->owned_) self->cut(End::kLost);
  while (self->writing_ || self->reading_) co_await self->wait_for_change();
  self->timer_.cancel();
  self->stream_ = nullptr;
  self->owned_.reset();
  self->buffer_.reset();
  self->changed();
}

Task<void> Core::wait_for_change() {
  if (!change_) change_ = std::make_unique<asio::steady_timer>(executor_, TimePoint::max());
  co_await change_->async_wait(asio::as_tuple(asio::use_awaitable));
}

void Core::changed() {
  if (change_) change_->cancel();
}

// ---- Time ----

// One timer: it is set to the earliest moment at which something may have to
// be done, and what is due is found out then. Set anew only for an earlier one.
void Core::arm(TimePoint at) {
  if (at >= armed_ || stream_ == nullptr) return;
  armed_ = at;
  timer_.expires_at(at);
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
    auto core = weak.lock();
    if (!error && core) core->on_timer();
  });
}

void Core::on_timer() {
  if (stream_ == nullptr || cut_) return;
  armed_ = TimePoint::max();
  TimePoint now = steady_clock::now();
  TimePoint next = TimePoint::max();
  if (writing_) {
    next = write_began_ + options_.write_time;
    if (now >= next) return cut(End::kSlowConsumer);
  }
  if (close_began_ == TimePoint::max()) {
    next = std::min(next, check_silence(now));
  } else if (now >= close_began_ + options_.close_time) {
    return cut(End::kLost);
  }
  if (close_began_ != TimePoint::max()) {
    next = std::min(next, close_began_ + options_.close_time);
  }
  arm(next);
}

// Returns when to look again.
Core::TimePoint Core::check_silence(TimePoint now) {
  if (!reading_) return now + std::min(options_.ping, options_.idle);
  if (now >= heard_ + options_.idle) {
    begin_close(End::kIdle, options_.idle_code, "nothing was heard for too long");
    return TimePoint::max();
  }
  if (now < heard_ + options_.ping) return heard_ + std::min(options_.ping, options_.idle);
  queue_.add(Opcode::kPing, "");
  schedule_flush();
  return std::min(heard_ + options_.idle, now + options_.ping);
}

}  // namespace base::ws
