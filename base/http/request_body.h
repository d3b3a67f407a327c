#pragma once

// The body of a request as its handler reads it, straight from the connection. Included by
// connection.cc alone, as the transport is.

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "base/http/body_stream.h"
#include "base/http/chunk_decoder.h"
#include "base/http/request_head.h"
#include "base/http/transport.h"

namespace base::http {

template <class Stream>
class RequestBody final : public BodySource {
 public:
  /// Borrows all but the head until end().
  RequestBody(Transport<Stream>& transport, ReadBuffer& in, const ServerLimits& limits,
              const RequestHead& head)
      : transport_(&transport),
        in_(in),
        limits_(limits),
        chunked_(head.framing == Framing::kChunked),
        left_(head.length),
        owes_continue_(head.expects_continue && in.empty()),
        decoder_(limits.body_bytes, limits.header_bytes) {}

  Task<Result<std::size_t>> read(std::span<char> into) override;
  /// The connection is used for something else from here on.
  void end() { transport_ = nullptr; }
  /// Whether the next request follows; takes off what has come of a body that nobody read.
  [[nodiscard]] bool is_over();

 private:
  static constexpr std::size_t kReadAtOnce = 64 * 1024;

  Task<Result<std::size_t>> read_sized(std::span<char> into);
  Task<Result<std::size_t>> read_chunked(std::span<char> into);
  Task<Status> before_waiting();
  [[nodiscard]] Error failed(Error error);
  [[nodiscard]] Error gone();

  Transport<Stream>* transport_;
  ReadBuffer& in_;
  const ServerLimits& limits_;
  const bool chunked_;
  std::uint64_t left_;  ///< Of a body with a length.
  bool owes_continue_;
  bool failed_ = false;
  bool decoded_all_ = false;
  ChunkDecoder decoder_;
  std::string decoded_;  ///< Of the chunks, and not yet read.
  std::size_t used_ = 0;
};

template <class Stream>
Task<Result<std::size_t>> RequestBody<Stream>::read(std::span<char> into) {
  if (transport_ == nullptr) co_return fail(ErrorKind::kCancelled, "the request is over");
  if (failed_) co_return gone();
  if (chunked_) co_return co_await read_chunked(into);
  co_return co_await read_sized(into);
}

template <class Stream>
Task<Result<std::size_t>> RequestBody<Stream>::read_sized(std::span<char> into) {
  if (left_ == 0) co_return std::size_t{0};
  into = into.first(static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), left_)));
  std::size_t n = std::min(into.size(), in_.size());
  if (n > 0) {
    std::memcpy(into.data(), in_.view().data(), n);
    in_.consume(n);
  } else {
    CO_RETURN_IF_ERROR(co_await before_waiting());
    transport_->limit(limits_.body_time);
    n = co_await transport_->read(into);
    if (n == 0) co_return gone();
    transport_->no_limit();
  }
  left_ -= n;
  co_return n;
}

template <class Stream>
Task<Result<std::size_t>> RequestBody<Stream>::read_chunked(std::span<char> into) {
  while (used_ == decoded_.size() && !decoded_all_) {
    decoded_.clear();
    used_ = 0;
    if (in_.empty()) {
      CO_RETURN_IF_ERROR(co_await before_waiting());
      transport_->limit(limits_.body_time);
      if (!co_await transport_->read(in_, kReadAtOnce)) co_return gone();
      transport_->no_limit();
    }
    auto [used, state] = decoder_.feed(in_.view(), decoded_);
    in_.consume(used);
    using enum ChunkDecoder::State;
    if (state == kTooLarge) co_return failed(fail(ErrorKind::kTooLarge, "request body too large"));
    if (state == kMalformed) co_return failed(fail(ErrorKind::kInvalid, "malformed chunk"));
    decoded_all_ = state == kDone;
  }
  const std::size_t n = std::min(into.size(), decoded_.size() - used_);
  std::memcpy(into.data(), decoded_.data() + used_, n);
  used_ += n;
  co_return n;
}

// A client that waits to be asked for its body is asked now.
template <class Stream>
Task<Status> RequestBody<Stream>::before_waiting() {
  if (!std::exchange(owes_continue_, false)) co_return Status{};
  std::array<std::string_view, 1> pieces{"HTTP/1.1 100 Continue\r\n\r\n"};
  transport_->limit(limits_.write_time);
  if (!co_await transport_->write(pieces)) co_return gone();
  co_return Status{};
}

template <class Stream>
Error RequestBody<Stream>::failed(Error error) {
  failed_ = true;
  return error;
}

template <class Stream>
Error RequestBody<Stream>::gone() {
  const bool late = !failed_ && !transport_->aborted() && transport_->overdue();
  failed_ = true;
  if (late) return fail(ErrorKind::kTimeout, "request body took too long");
  return fail(ErrorKind::kUnavailable, "the client went away before the end of its request");
}

template <class Stream>
bool RequestBody<Stream>::is_over() {
  if (failed_) return false;
  if (chunked_) return decoded_all_;
  if (left_ > 0 && left_ <= in_.size()) {
    in_.consume(static_cast<std::size_t>(left_));
    left_ = 0;
  }
  return left_ == 0;
}

}  // namespace base::http
