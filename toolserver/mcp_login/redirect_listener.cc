#include "toolserver/mcp_login/redirect_listener.h"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <mutex>
#include <optional>
#include <utility>

#include "base/crypto/digest.h"

namespace tool::login {
namespace {

namespace asio = boost::asio;
namespace http = base::http;

constexpr std::string_view kPath = "/callback";

http::Response page(unsigned status, std::string text) {
  http::Response out;
  out.status = status;
  out.headers.add("Content-Type", "text/plain; charset=utf-8");
  out.headers.add("Cache-Control", "no-store");
  out.headers.add("Referrer-Policy", "no-referrer");
  out.body = http::Body(std::move(text));
  return out;
}

}  // namespace

// Between the listener's thread and who waits.
struct RedirectListener::Inbox {
  std::mutex mutex;
  std::string state;  // Empty: none is taken.
  std::optional<std::string> target;
  std::shared_ptr<asio::steady_timer> arrived;  // Null: nobody waits yet.

  bool take(const http::Request& request) {
    std::lock_guard lock(mutex);
    auto given = request.query("state");
    if (state.empty() || !given || !base::crypto::equal(*given, state)) return false;
    state.clear();
    target = request.target;
    if (arrived) asio::post(arrived->get_executor(), [timer = arrived] { timer->cancel(); });
    return true;
  }

  static base::Task<http::Response> answer(std::shared_ptr<Inbox> inbox, http::Request request) {
    if (request.method != http::Method::kGet || request.path() != kPath) {
      co_return page(404, "not found\n");
    }
    if (!inbox->take(request)) co_return page(400, "no sign-in waits for this\n");
    co_return page(200, "You can close this window and go back to securetool.\n");
  }
};

RedirectListener::RedirectListener() : inbox_(std::make_shared<Inbox>()) {}

RedirectListener::~RedirectListener() {
  if (server_) server_->shutdown(std::chrono::milliseconds(500));
  server_.reset();
  worker_.join();
}

base::Result<std::unique_ptr<RedirectListener>> RedirectListener::start(std::uint16_t port) {
  std::unique_ptr<RedirectListener> out(new RedirectListener());
  http::ServerOptions options;
  options.port = port;
  options.limits.header_bytes = 16 << 10;
  options.limits.body_bytes = 0;
  options.limits.admission.connections = 32;
  std::vector<http::Handler> handlers;
  handlers.push_back([inbox = out->inbox_](base::RequestContext, http::Request request) {
    return Inbox::answer(inbox, std::move(request));
  });
  ASSIGN_OR_RETURN(out->server_,
                   http::Server::start(std::move(options), out->worker_, std::move(handlers),
                                       [](unsigned status, std::string_view) {
                                         return page(status, "refused\n");
                                       }));
  return out;
}

std::string RedirectListener::redirect_uri() const {
  return fmt::format("http://127.0.0.1:{}{}", server_->port(), kPath);
}

void RedirectListener::expect(std::string state) {
  std::lock_guard lock(inbox_->mutex);
  inbox_->state = std::move(state);
  inbox_->target.reset();
  inbox_->arrived.reset();
}

base::Task<base::Result<std::string>> RedirectListener::wait(base::Deadline until) {
  auto inbox = inbox_;
  auto timer = std::make_shared<asio::steady_timer>(co_await asio::this_coro::executor, until);
  {
    std::lock_guard lock(inbox->mutex);
    if (inbox->target) co_return std::move(*inbox->target);
    inbox->arrived = timer;
  }
  boost::system::error_code woken;
  co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, woken));
  std::lock_guard lock(inbox->mutex);
  inbox->state.clear();
  inbox->arrived.reset();
  if (inbox->target) co_return std::move(*inbox->target);
  if (woken) co_return base::fail(base::ErrorKind::kCancelled, "the sign-in was cancelled");
  co_return base::fail(base::ErrorKind::kTimeout, "nobody signed in in time");
}

}  // namespace tool::login
