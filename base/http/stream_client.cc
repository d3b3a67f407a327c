#include "base/http/stream_client.h"

#include <boost/asio/this_coro.hpp>
#include <optional>
#include <utility>

#include "base/http/client_connection.h"
#include "base/http/client_pool.h"
#include "base/http/dial.h"

namespace base::http {
namespace {

namespace asio = boost::asio;

// A body of known length is taken once; any other request that may be repeated can be sent again.
bool may_send_again(Method method, const BodyStream& body) {
  return !body.source && (method == Method::kGet || method == Method::kHead ||
                          method == Method::kPut || method == Method::kDelete);
}

// The body of an answer, which holds its connection until it has ended.
class AnswerBody final : public BodySource {
 public:
  explicit AnswerBody(Lease lease) : lease_(std::move(lease)) {}

  Task<Result<std::size_t>> read(std::span<char> into) override {
    if (failed_) co_return *failed_;
    if (!lease_) co_return std::size_t{0};
    // As in send(): a cancellation is a result like any other.
    bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    auto n = co_await lease_->connection()->read_body(into);
    if (n) {
      came(*n);
    } else {
      fail_with(n.error());
    }
    co_await asio::this_coro::throw_if_cancelled(throws);
    co_return n;
  }

  Task<Result<std::optional<std::size_t>>> splice_into(int pipe, std::size_t most) override {
    if (failed_ || !lease_) co_return std::optional<std::size_t>();
    bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    auto n = co_await lease_->connection()->splice_body(pipe, most);
    if (!n) {
      fail_with(n.error());
    } else if (*n) {
      came(**n);
    }
    co_await asio::this_coro::throw_if_cancelled(throws);
    co_return n;
  }

 private:
  // The connection goes back as soon as all has come.
  void came(std::size_t bytes) {
    if (bytes > 0 && !lease_->connection()->reusable()) return;
    lease_->keep();
    lease_.reset();
  }
  void fail_with(const Error& error) {
    failed_ = error;
    lease_.reset();
  }

  std::optional<Lease> lease_;  ///< Nothing once all is read.
  std::optional<Error> failed_;
};

class PooledStreamClient final : public StreamClient {
 public:
  PooledStreamClient(Origin origin, ClientOptions options)
      : origin_(std::move(origin)),
        options_(std::move(options)),
        pool_(std::make_shared<ConnectionPool>(options_.connections)) {
    if (!origin_.encrypted) return;
    auto tls = make_tls_context(options_.ca_file);
    if (tls) {
      tls_ = std::move(*tls);
    } else {
      unusable_ = std::move(tls).error();
    }
  }

  Task<Result<StreamedResponse>> send(RequestContext context, ClientRequest request,
                                      BodyStream body) override;

 private:
  Task<Result<StreamedResponse>> send_leased(RequestContext context, WireRequest request,
                                             BodyStream body);
  Task<Begun> begin(RequestContext context, Lease& lease, WireRequest request, BodyStream body);
  [[nodiscard]] static Deadline within(const RequestContext& context,
                                       std::chrono::milliseconds time) {
    auto now = std::chrono::steady_clock::now();
    return context.deadline - now > time ? now + time : context.deadline;
  }

  Origin origin_;
  ClientOptions options_;
  std::shared_ptr<asio::ssl::context> tls_;
  std::optional<Error> unusable_;
  std::shared_ptr<ConnectionPool> pool_;
};

Task<Begun> PooledStreamClient::begin(RequestContext context, Lease& lease, WireRequest request,
                                      BodyStream body) {
  if (lease.connection() == nullptr) {
    auto opened = co_await open_connection(origin_, tls_, within(context, options_.connect_time));
    if (!opened) co_return Begun{.head = std::move(opened).error()};
    lease.set(std::move(*opened));
  }
  StreamLimits limits{.answer = {options_.header_bytes, options_.body_bytes},
                      .step = options_.response_time,
                      .until = context.deadline};
  Begun begun = co_await lease.connection()->begin(std::move(request), std::move(body), limits);
  if (!begun.head) lease.set(nullptr);
  co_return begun;
}

Task<Result<StreamedResponse>> PooledStreamClient::send_leased(RequestContext context,
                                                               WireRequest request,
                                                               BodyStream body) {
  CO_ASSIGN_OR_RETURN(Lease lease, co_await ConnectionPool::acquire(
                                       pool_, within(context, options_.response_time)));
  if (co_await was_cancelled()) {
    co_return fail(ErrorKind::kCancelled, "the request was cancelled");
  }
  const bool kept = lease.connection() != nullptr;
  const bool again = may_send_again(request.method, body);
  Begun begun = co_await begin(context, lease, request, body);
  if (kept && begun.closed_unanswered && again) {
    begun = co_await begin(context, lease, request, body);
  }
  if (!begun.head) co_return std::move(begun.head).error();
  StreamedResponse response{.head = std::move(*begun.head), .body = {.length = begun.length}};
  if (begun.has_body) {
    response.body.source = std::make_shared<AnswerBody>(std::move(lease));
  } else {
    lease.keep();
  }
  co_return response;
}

Task<Result<StreamedResponse>> PooledStreamClient::send(RequestContext context,
                                                        ClientRequest request, BodyStream body) {
  if (unusable_) co_return *unusable_;
  if (context.expired()) {
    co_return fail(ErrorKind::kTimeout, "the time for the request is over");
  }
  CO_ASSIGN_OR_RETURN(auto wire, WireRequest::make(origin_, request, body));
  bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  auto answer = co_await send_leased(context, std::move(wire), std::move(body));
  co_await asio::this_coro::throw_if_cancelled(throws);
  co_return answer;
}

}  // namespace

std::unique_ptr<StreamClient> StreamClient::create(Origin origin, ClientOptions options) {
  return std::make_unique<PooledStreamClient>(std::move(origin), std::move(options));
}

}  // namespace base::http
