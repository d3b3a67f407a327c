#pragma once

// The body of an answer that streams, from its source to the connection. Included by connection.cc
// alone, as the transport is.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "base/http/body_stream.h"
#include "base/http/transport.h"

namespace base::http {

/// A pipe that bytes pass on their way from one socket to another.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
    // Where the user has too many large ones it stays as it is, and works.
    ::fcntl(ends_[1], F_SETPIPE_SZ, static_cast<int>(kSpliceStep));
  }
  ~Pipe() {
    for (int end : ends_) {
      if (end >= 0) ::close(end);
    }
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  [[nodiscard]] bool is_open() const { return ends_[1] >= 0; }
  [[nodiscard]] int out() const { return ends_[0]; }
  [[nodiscard]] int in() const { return ends_[1]; }

 private:
  std::array<int, 2> ends_{-1, -1};
};

template <class Stream>
class ResponseBody {
 public:
  /// Borrows the transport and `head`, which goes out before the body and is empty then.
  ResponseBody(Transport<Stream>& transport, const ServerLimits& limits, std::string& head,
               BodyStream body, bool chunked)
      : transport_(transport),
        limits_(limits),
        head_(head),
        body_(std::move(body)),
        chunked_(chunked) {}

  /// False when it cannot be sent to its end. A source may throw, when it is cancelled.
  Task<bool> send();

 private:
  Task<Result<std::size_t>> next_piece(std::span<char> into);
  Task<bool> write_piece(std::string_view piece);
  Task<Result<std::optional<std::size_t>>> splice_piece(const Pipe& pipe);
  Task<bool> write(std::span<std::string_view> pieces);

  Transport<Stream>& transport_;
  const ServerLimits& limits_;
  std::string& head_;
  const BodyStream body_;
  const bool chunked_;
  std::uint64_t sent_ = 0;
};

template <class Stream>
Task<bool> ResponseBody<Stream>::send() {
  auto buffer = std::make_unique_for_overwrite<char[]>(kStreamStep);
  std::optional<Pipe> pipe;
  if (!Transport<Stream>::kTls && body_.length.value_or(0) >= kSpliceStep) pipe.emplace();
  for (;;) {
    transport_.no_limit();
    if (pipe && pipe->is_open() && sent_ < *body_.length) {
      auto spliced = co_await splice_piece(*pipe);
      if (!spliced || transport_.aborted()) co_return false;
      sent_ += spliced->value_or(0);
      if (*spliced) continue;
    }
    auto n = co_await next_piece({buffer.get(), kStreamStep});
    if (!n || transport_.aborted()) co_return false;
    if (!co_await write_piece({buffer.get(), *n})) co_return false;
    sent_ += *n;
    if (*n == 0) co_return true;
  }
}

// Nothing: the piece has to be read.
template <class Stream>
Task<Result<std::optional<std::size_t>>> ResponseBody<Stream>::splice_piece(const Pipe& pipe) {
  const std::uint64_t left = *body_.length - sent_;
  CO_ASSIGN_OR_RETURN(auto n, co_await body_.source->splice_into(
                                  pipe.in(), std::min<std::uint64_t>(left, kSpliceStep)));
  if (!n) co_return n;
  const bool fits = *n > 0 && *n <= left;
  std::array<std::string_view, 1> head{head_};
  if (fits && !head_.empty() && !co_await write(head)) {
    co_return fail(ErrorKind::kUnavailable, "the client went away");
  }
  transport_.limit(limits_.write_time);
  if (!fits || !co_await transport_.splice_from(pipe.out(), *n)) {
    co_return fail(ErrorKind::kUnavailable, "the client went away");
  }
  co_return n;
}

// 0 at the end of the body, which is where it was said to be.
template <class Stream>
Task<Result<std::size_t>> ResponseBody<Stream>::next_piece(std::span<char> into) {
  if (body_.length && sent_ == *body_.length) co_return std::size_t{0};
  CO_ASSIGN_OR_RETURN(const std::size_t n, co_await body_.source->read(into));
  const bool wrong = body_.length && (n == 0 || n > *body_.length - sent_);
  if (wrong) co_return fail(ErrorKind::kInternal, "a body of another length than was announced");
  co_return n;
}

// With the head where it still waits. An empty piece is the last.
template <class Stream>
Task<bool> ResponseBody<Stream>::write_piece(std::string_view piece) {
  std::string size;
  if (chunked_) size = fmt::format("{:x}\r\n", piece.size());
  std::array<std::string_view, 4> pieces{head_, size, piece, chunked_ ? "\r\n" : ""};
  co_return co_await write(pieces);
}

template <class Stream>
Task<bool> ResponseBody<Stream>::write(std::span<std::string_view> pieces) {
  transport_.limit(limits_.write_time);
  const bool written = co_await transport_.write(pieces);
  head_.clear();
  co_return written;
}

}  // namespace base::http
