#include "base/websocket/core.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

#include "base/core/text.h"
#include "base/websocket/tls_facts.h"

namespace base::ws {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

// A waiting connection holds the small buffer; one that is in the middle of
// much holds the large one.
constexpr std::size_t kSmallBuffer = 2 * 1024;
constexpr std::size_t kLargeBuffer = 64 * 1024;
// So much is sent on without waiting for more to come behind it.
constexpr std::size_t kFlushAt = 64 * 1024;
// What a peer has write_time to take.
constexpr std::size_t kWriteStep = 128 * 1024;

Sender other(Sender sender) {
  return sender == Sender::kClient ? Sender::kServer : Sender::kClient;
}

void no_exception(std::exception_ptr error) {
  if (error) std::terminate();
}

}  // namespace

std::shared_ptr<Core> Core::borrow(http::ByteStream& stream, Setup setup) {
  auto core = std::make_shared<Core>(stream, nullptr, std::move(setup));
  core->start();
  return core;
}

std::shared_ptr<Core> Core::own(std::unique_ptr<http::ByteStream> stream, Setup setup) {
  http::ByteStream& reference = *stream;
  auto core = std::make_shared<Core>(reference, std::move(stream), std::move(setup));
  core->start();
  return core;
}

Core::Core(http::ByteStream& stream, std::unique_ptr<http::ByteStream> owned, Setup setup)
    : owned_(std::move(owned)),
      stream_(&stream),
      executor_(std::move(setup.executor)),
      options_(setup.options),
      peer_(stream.peer()),
      encrypted_(stream.tls() != nullptr),
      subprotocol_(std::move(setup.subprotocol)),
      certificate_(peer_certificate(stream.tls())),
      decoder_(other(setup.self), setup.options.message_bytes, setup.options.fragments),
      early_(std::move(setup.received)),
      unused_(early_),
      heard_(steady_clock::now()),
      queue_(setup.self, setup.random ? *setup.random : system_random_),
      write_began_(heard_),
      timer_(executor_) {}

void Core::start() {
  on_drain([weak = weak_from_this()] {
    if (auto core = weak.lock()) core->close(kCloseGoingAway, "the server is stopping");
  });
  arm(heard_ + std::min(options_.ping, options_.idle));
}

// ---- Reading ----

Task<Result<Message>> Core::receive(std::shared_ptr<Core> self) {
  while (!self->done_) {
    MessageDecoder::Step step = self->decoder_.feed(self->unused_);
    self->unused_.remove_prefix(step.used);
    if (step.event != MessageDecoder::Event::kNeedMore) {
      if (auto result = self->act_on(step.event)) co_return std::move(*result);
      continue;
    }
    self->flush();
    if (!co_await self->fill()) self->cut(End::kLost);
  }
  co_return self->error();
}

// A result, or nothing when reading goes on.
std::optional<Result<Message>> Core::act_on(MessageDecoder::Event event) {
  switch (event) {
    case MessageDecoder::Event::kMessage: {
      Message message = decoder_.take_message();
      if (closure_.end != End::kOpen) return std::nullopt;
      return message;
    }
    case MessageDecoder::Event::kPing:
      pong_ = decoder_.control();
      schedule_flush();
      return std::nullopt;
    case MessageDecoder::Event::kClose: on_peer_close(decoder_.close()); return std::nullopt;
    case MessageDecoder::Event::kViolation: on_violation(decoder_.violation()); return std::nullopt;
    case MessageDecoder::Event::kPong:
    case MessageDecoder::Event::kNeedMore: return std::nullopt;
  }
  return std::nullopt;
}

// Source: RFC 6455, section 5.5.1: a close is answered with the code received.
void Core::on_peer_close(const ClosePayload& close) {
  done_ = true;
  if (closure_.end != End::kOpen) return;  // The answer to ours.
  closure_ = {End::kClosedByPeer, close.code, close.reason};
  queue_.add(Opcode::kClose, close.code == kCloseNoCode ? "" : close_payload(close.code, ""));
  close_began_ = steady_clock::now();
  arm(close_began_ + options_.close_time);
  schedule_flush();
}

void Core::on_violation(Violation violation) {
  bool too_large = violation == Violation::kTooLarge || violation == Violation::kTooManyFragments;
  begin_close(too_large ? End::kTooLarge : End::kProtocolError,
              too_large ? options_.too_large_code : close_code(violation), to_string(violation));
  done_ = true;
}

// Everything received has been decoded by now. False at the end of the stream.
Task<bool> Core::fill() {
  if (stream_ == nullptr || cut_ || reading_) co_return false;
  resize_buffer();
  early_ = std::string();
  reading_ = true;
  // Time in which nobody read is not the peer's silence.
  heard_ = steady_clock::now();
  std::size_t n = co_await stream_->read({buffer_.get(), capacity_});
  reading_ = false;
  heard_ = steady_clock::now();
  last_read_ = n;
  unused_ = {buffer_.get(), n};
  if (dropped_) changed();
  co_return n > 0;
}

void Core::resize_buffer() {
  bool much = decoder_.missing() > kSmallBuffer || (capacity_ > 0 && last_read_ == capacity_);
  std::size_t wanted = much ? kLargeBuffer : kSmallBuffer;
  if (capacity_ == wanted) return;
  buffer_ = std::make_unique_for_overwrite<char[]>(wanted);
  capacity_ = wanted;
}

Error Core::error() const {
  auto make = [&](ErrorKind kind, std::string_view reason, std::string message) {
    return fail(kind, std::move(message)).with_reason(reason).with_detail(closure_.reason);
  };
  switch (closure_.end) {
    case End::kClosedByPeer:
      return make(ErrorKind::kCancelled, "closed", "the peer closed the connection");
    case End::kOpen:
    case End::kClosedHere:
      return make(ErrorKind::kCancelled, "closed_here", "the connection was closed");
    case End::kLost: return make(ErrorKind::kUnavailable, "lost", "the connection was lost");
    case End::kProtocolError:
      return make(ErrorKind::kInvalid, "protocol", "the peer broke the WebSocket protocol");
    case End::kTooLarge:
      return make(ErrorKind::kTooLarge, "too_large", "the peer sent too large a message");
    case End::kIdle: return make(ErrorKind::kTimeout, "idle", "the peer was silent for too long");
    case End::kSlowConsumer:
      return make(ErrorKind::kTimeout, "slow_consumer", "the peer does not read");
  }
  return make(ErrorKind::kInternal, "lost", "the connection ended");
}

// ---- Writing ----

Status Core::send(Message message) {
  if (closure_.end != End::kOpen || stream_ == nullptr) {
    return fail(ErrorKind::kUnavailable, "the connection is closing or has ended");
  }
  bool text = message.kind == Message::Kind::kText;
  if (text && !is_utf8(message.data)) {
    return fail(ErrorKind::kInvalid, "a text message must be UTF-8");
  }
  std::size_t size = message.data.size();
  if (size > options_.send_queue_bytes) {
    return fail(ErrorKind::kTooLarge, "the message is larger than the send queue")
        .with_reason("message");
  }
  if (queued() > options_.send_queue_bytes - size) {
    cut(End::kSlowConsumer);
    return fail(ErrorKind::kTooLarge, "the peer does not read").with_reason("slow_consumer");
  }
  queue_pong();  // Before the answers to what came after the ping.
  queue_.add(text ? Opcode::kText : Opcode::kBinary, std::move(message.data));
  if (queue_.bytes() >= kFlushAt) {
    flush();
  } else {
    schedule_flush();
  }
  return {};
}

// What is queued until the running handler suspends goes out together.
void Core::schedule_flush() {
  if (writing_ || std::exchange(flush_posted_, true)) return;
  asio::post(executor_, [self = shared_from_this()] {
    self->flush_posted_ = false;
    self->flush();
  });
}

// Writes at once what the system takes; the rest is left to write_all().
void Core::flush() {
  if (writing_ || stream_ == nullptr || cut_) return;
  queue_pong();
  while (!queue_.empty()) {
    std::size_t n = stream_->write_now(queue_.front());
    if (n == 0) break;
    queue_.consume(n);
  }
  if (queue_.empty()) {
    changed();
    return;
  }
  writing_ = true;
  asio::co_spawn(executor_, write_all(shared_from_this()), no_exception);
}

void Core::queue_pong() {
  // Nothing follows a close frame: RFC 6455, section 5.5.1.
  if (pong_ && close_began_ == TimePoint::max()) queue_.add(Opcode::kPong, std::move(*pong_));
  pong_.reset();
}

Task<void> Core::write_all(std::shared_ptr<Core> self) {
  bool alive = true;
  while (alive && !self->queue_.empty()) {
    SendQueue::Piece piece = self->queue_.take();
    self->in_flight_ = piece.size();
    alive = co_await self->write_piece(std::move(piece));
    self->in_flight_ = 0;
    self->queue_pong();
  }
  self->writing_ = false;
  if (!alive) self->cut(End::kLost);
  self->changed();
}

Task<bool> Core::write_piece(SendQueue::Piece piece) {
  std::string_view head = piece.head;
  std::string_view body = piece.body;
  while (!head.empty() || !body.empty()) {
    std::string_view first = head.substr(0, kWriteStep);
    std::string_view second = body.substr(0, kWriteStep - first.size());
    write_began_ = steady_clock::now();
    arm(write_began_ + options_.write_time);
    if (cut_ || !co_await stream_->write(first, second)) co_return false;
    head.remove_prefix(first.size());
    body.remove_prefix(second.size());
    in_flight_ -= first.size() + second.size();
  }
  co_return !cut_;
}

// The stream is not let go of while anything is under way on it.
Task<Status> Core::drained(std::shared_ptr<Core> self) {
  while (!self->cut_ && self->stream_ != nullptr && self->queued() > 0) {
    self->schedule_flush();
    co_await self->wait_for_change();
    auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
      co_return fail(ErrorKind::kCancelled, "the wait was cancelled");
    }
  }
  if (self->queued() > 0 || self->cut_) {
    co_return fail(ErrorKind::kUnavailable, "the connection ended before all was sent");
  }
  co_return Status{};
}

}  // namespace base::ws
