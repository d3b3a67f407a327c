#include "tests/integration/mcp_conformance_client/browser.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <string>

#include "base/http/client.h"
#include "toolserver/mcp_login/address.h"

namespace conformance {
namespace {

using base::ErrorKind;
using base::fail;
using base::Result;
using base::Task;

constexpr std::chrono::seconds kTime{30};

// The Location of the answer to GET `url`; empty when it has none.
Task<Result<std::string>> open(std::string url) {
  CO_ASSIGN_OR_RETURN(auto address, tool::login::Address::parse(url));
  auto client = base::http::Client::create(address.origin, {.connections = 1});
  base::http::ClientRequest request;
  request.target = address.target;
  base::RequestContext context;
  context.deadline = std::chrono::steady_clock::now() + kTime;
  CO_ASSIGN_OR_RETURN(auto answer, co_await client->send(context, std::move(request)));
  co_return std::string(answer.headers.get("Location").value_or(""));
}

Task<void> follow(std::string url) {
  auto location = co_await open(std::move(url));
  if (location && !location->empty()) (void)co_await open(std::move(*location));
}

Task<Result<std::string>> sign_in(tool::login::RedirectListener& listener,
                                  tool::login::AuthorizationRequest request) {
  auto loop = co_await boost::asio::this_coro::executor;
  listener.expect(std::move(request.state));
  boost::asio::co_spawn(loop, follow(std::move(request.url)), boost::asio::detached);
  co_return co_await listener.wait(std::chrono::steady_clock::now() + kTime);
}

}  // namespace

tool::login::Person browser(tool::login::RedirectListener& listener) {
  return {listener.redirect_uri(), [&listener](tool::login::AuthorizationRequest request) {
            return sign_in(listener, std::move(request));
          }};
}

}  // namespace conformance
