#pragma once

// A server whose handlers stream, beside server_fixture_test.h; and sources of bodies that are as
// long, slow or broken as a test needs.

#include <boost/asio/this_coro.hpp>
#include <optional>

#include "base/http/server_fixture_test.h"
#include "base/http/stream_server.h"

namespace base::http::testing {

/// What a source was asked for, also after it is gone.
struct SourceUse {
  std::atomic<std::uint64_t> given = 0;
  std::atomic<int> made = 0;
  std::atomic<int> gone = 0;
};

/// The byte at that place of every made-up body.
inline char byte_at(std::uint64_t place) { return static_cast<char>('a' + place % 23); }

/// `size` bytes, and then `error` where there is one.
class MadeUpBody final : public BodySource {
 public:
  MadeUpBody(SourceUse& use, std::uint64_t size, std::optional<Error> error = std::nullopt)
      : use_(use), left_(size), error_(std::move(error)) {
    ++use_.made;
  }
  ~MadeUpBody() override { ++use_.gone; }
  MadeUpBody(const MadeUpBody&) = delete;
  MadeUpBody& operator=(const MadeUpBody&) = delete;

  Task<Result<std::size_t>> read(std::span<char> into) override {
    if (left_ == 0 && error_) co_return *error_;
    const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(left_, into.size()));
    for (std::size_t i = 0; i < n; ++i) into[i] = byte_at(at_ + i);
    at_ += n;
    left_ -= n;
    use_.given += n;
    co_return n;
  }

 private:
  SourceUse& use_;
  std::uint64_t left_;
  std::uint64_t at_ = 0;
  std::optional<Error> error_;
};

/// What came of reading a body to its end.
struct Read {
  std::uint64_t bytes = 0;
  bool as_made_up = true;  ///< Each byte was that of byte_at().
  std::optional<ErrorKind> failed;
};

inline Task<Read> read_all(std::shared_ptr<BodySource> source) {
  Read all;
  std::string buffer(64 * 1024, '\0');
  while (source) {
    auto n = co_await source->read(buffer);
    if (!n) all.failed = n.error().kind();
    if (!n || *n == 0) break;
    for (std::size_t i = 0; i < *n; ++i) {
      all.as_made_up = all.as_made_up && buffer[i] == byte_at(all.bytes + i);
    }
    all.bytes += *n;
  }
  co_return all;
}

struct StreamSeen : Seen {
  SourceUse source;
  std::atomic<int> bodies = 0;   ///< Read to their end, or to an error.
  std::atomic<int> failed = -1;  ///< The last error's kind.
};

/// Paths: /count reads all and says how much it was, /refuse reads nothing, /echo gives the body
/// back; /give?size=&said=&fail=1 answers with a made-up body, of that length where it is said.
inline Task<StreamedResponse> serve_stream(StreamSeen* seen, RequestContext,
                                           StreamedRequest request) {
  ++seen->requests;
  StreamedResponse response;
  const std::string_view path = request.head.path();
  auto number = [&](std::string_view name) -> std::optional<std::uint64_t> {
    auto text = request.head.query(name);
    if (!text) return std::nullopt;
    return std::stoull(*text);
  };
  if (path == "/count") {
    Read all = co_await read_all(request.body.source);
    if (all.failed) {
      seen->failed = static_cast<int>(*all.failed);
      response.head.status = *all.failed == ErrorKind::kTimeout ? 408 : 400;
    }
    response.head.body = Body(fmt::format("{}{}", all.bytes, all.as_made_up ? "" : " wrong"));
    ++seen->bodies;
  } else if (path == "/refuse") {
    response.head.status = 403;
    response.head.body = Body(std::string("no"));
  } else if (path == "/echo") {
    response.body = request.body;
  } else if (path == "/throw") {
    throw std::runtime_error("a defect");
  } else if (path == "/give") {
    std::optional<Error> error;
    if (number("fail")) error = fail(ErrorKind::kUnavailable, "broke off");
    response.body.source =
        std::make_shared<MadeUpBody>(seen->source, number("size").value_or(0), std::move(error));
    response.body.length = number("said");
    response.head.headers.add("Content-Length", "7");  // Not the handler's to say.
  } else if (path == "/head") {
    response.body.length = 1 << 30;
  }
  co_return response;
}

class StreamServer {
 public:
  explicit StreamServer(ServerLimits limits = roomy()) {
    std::vector<StreamHandler> handlers(1, [this](RequestContext context, StreamedRequest request) {
      return serve_stream(&seen, context, std::move(request));
    });
    ServerOptions options{.limits = limits};
    auto started = start_stream_server(std::move(options), workers_, std::move(handlers), refusal);
    EXPECT_TRUE(started.has_value());
    server_ = std::move(*started);
  }

  static ServerLimits roomy() {
    ServerLimits limits;
    limits.body_bytes = std::size_t{1} << 40;
    return limits;
  }
  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  Server& server() { return *server_; }

  StreamSeen seen;

 private:
  Workers workers_{1};
  std::unique_ptr<Server> server_;
};

/// Waits for something that happens on another thread; false after five seconds.
template <class Condition>
bool soon(Condition condition) {
  for (int i = 0; i < 5000 && !condition(); ++i) std::this_thread::sleep_for(milliseconds(1));
  return condition();
}

inline std::string made_up(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = byte_at(i);
  return text;
}

}  // namespace base::http::testing
