#include "bench/requests/client.h"

#include <fmt/format.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "bench/requests/rebase.h"

namespace bench {
namespace {

using base::ErrorKind;
using base::http::Method;
using base::http::Response;

constexpr int kRetries = 4;
constexpr std::chrono::milliseconds kFirstWait{100};
constexpr unsigned kConflict = 409;

base::Status check(const Response& answer) {
  if (answer.status >= 200 && answer.status < 300) return {};
  return base::fail(ErrorKind::kInvalid, fmt::format("answered {}: {}", answer.status,
                                                     answer.body.view().substr(0, 500)));
}

}  // namespace

ScriptedClient::ScriptedClient(const base::http::Origin& origin, Script script, Samples& samples,
                               unsigned number)
    : client_(base::http::Client::create(origin, {.connections = 1})),
      script_(std::move(script)),
      samples_(samples),
      jitter_(number + 1) {}

base::Task<base::Result<Response>> ScriptedClient::ask(Method method, std::string target,
                                                       std::string body) {
  base::http::ClientRequest request{.method = method, .target = std::move(target)};
  if (method == Method::kPost) request.headers.add("Content-Type", "application/json");
  request.body = std::move(body);
  base::RequestContext context;
  context.deadline = Steady::now() + std::chrono::seconds(60);
  co_return co_await client_->send(context, std::move(request));
}

// Twice as long each time, and up to a tenth more.
base::Task<void> ScriptedClient::wait_before(int retry) {
  auto time = std::chrono::duration_cast<std::chrono::microseconds>(kFirstWait) * (1 << retry);
  time += time * std::uniform_int_distribution(0, 100)(jitter_) / 1000;
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, time);
  co_await timer.async_wait(boost::asio::use_awaitable);
}

// Whether it succeeded.
base::Task<base::Result<bool>> ScriptedClient::send(ScriptedRequest request) {
  for (int retry = 0;; ++retry) {
    CO_ASSIGN_OR_RETURN(auto answer, co_await ask(request.method, request.target, request.body));
    if (answer.status != kConflict) {
      CO_RETURN_IF_ERROR(check(answer));
      co_return true;
    }
    ++conflicts_;
    if (retry == kRetries) co_return false;
    co_await wait_before(retry);
    CO_ASSIGN_OR_RETURN(auto loaded, co_await ask(Method::kGet, request.target, ""));
    CO_RETURN_IF_ERROR(check(loaded));
    CO_ASSIGN_OR_RETURN(request.body, rebase(request.body, loaded.body.view()));
  }
}

base::Task<base::Status> ScriptedClient::run() {
  for (ScriptedRequest& request : script_) {
    const auto began = Steady::now();
    CO_ASSIGN_OR_RETURN(bool succeeded, co_await send(std::move(request)));
    if (succeeded) {
      samples_.add(Steady::now() - began);
    } else {
      ++given_up_;
    }
  }
  co_return base::Status{};
}

}  // namespace bench
