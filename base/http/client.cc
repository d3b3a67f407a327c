#include "base/http/client.h"

#include <boost/asio/this_coro.hpp>
#include <optional>

#include "base/http/client_connection.h"
#include "base/http/client_pool.h"
#include "base/http/dial.h"

namespace base::http {
namespace {

namespace asio = boost::asio;

// Source: RFC 9110, section 9.2.2.
bool is_idempotent(Method method) {
  return method == Method::kGet || method == Method::kHead || method == Method::kPut ||
         method == Method::kDelete;
}

Deadline earlier(Deadline deadline, std::chrono::milliseconds from_now) {
  auto now = std::chrono::steady_clock::now();
  // Compared as durations, since now + a very long one would overflow.
  return deadline - now > from_now ? now + from_now : deadline;
}

class PooledClient final : public Client {
 public:
  PooledClient(Origin origin, ClientOptions options)
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

  Task<Result<Response>> send(RequestContext context, ClientRequest request) override;

 private:
  Task<Result<Response>> send_leased(RequestContext context, WireRequest request);
  Task<Exchange> exchange(Lease& lease, WireRequest request, Deadline deadline);

  Origin origin_;
  ClientOptions options_;
  std::shared_ptr<asio::ssl::context> tls_;
  std::optional<Error> unusable_;
  std::shared_ptr<ConnectionPool> pool_;
};

// Opens a connection if the lease has none. Closes it unless it may be kept.
Task<Exchange> PooledClient::exchange(Lease& lease, WireRequest request, Deadline deadline) {
  if (lease.connection() == nullptr) {
    auto opened = co_await open_connection(origin_, tls_, earlier(deadline, options_.connect_time),
                                           options_.may_connect);
    if (!opened) co_return Exchange{.answer = std::move(opened).error()};
    lease.set(std::move(*opened));
  }
  AnswerLimits limits{.header_bytes = options_.header_bytes, .body_bytes = options_.body_bytes};
  Exchange done = co_await lease.connection()->exchange(std::move(request), limits,
                                                        earlier(deadline, options_.response_time));
  if (!done.answer) lease.set(nullptr);
  co_return done;
}

Task<Result<Response>> PooledClient::send_leased(RequestContext context, WireRequest request) {
  CO_ASSIGN_OR_RETURN(Lease lease, co_await ConnectionPool::acquire(
                                       pool_, earlier(context.deadline, options_.response_time)));
  if (co_await was_cancelled()) {
    co_return fail(ErrorKind::kCancelled, "the request was cancelled");
  }
  bool kept = lease.connection() != nullptr;
  Exchange done = co_await exchange(lease, request, context.deadline);
  if (kept && done.closed_unanswered && is_idempotent(request.method)) {
    // The server closed the kept connection while our request was on its way.
    // The lease is empty now, so this goes over a new one.
    done = co_await exchange(lease, request, context.deadline);
  }
  if (done.answer) lease.keep();
  co_return std::move(done.answer);
}

Task<Result<Response>> PooledClient::send(RequestContext context, ClientRequest request) {
  if (unusable_) co_return *unusable_;
  if (context.expired()) {
    co_return fail(ErrorKind::kTimeout, "the time for the request is over");
  }
  CO_ASSIGN_OR_RETURN(auto wire, WireRequest::make(origin_, request));
  // In here a cancellation ends the wait and is then a result like any other.
  bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  auto answer = co_await send_leased(context, std::move(wire));
  co_await asio::this_coro::throw_if_cancelled(throws);
  co_return answer;
}

}  // namespace

std::unique_ptr<Client> Client::create(Origin origin, ClientOptions options) {
  return std::make_unique<PooledClient>(std::move(origin), std::move(options));
}

}  // namespace base::http
