#include "toolserver/mcp_login/redirect_listener.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include "base/http/client.h"

namespace tool::login {
namespace {

namespace asio = boost::asio;
using base::Task;

// The status of GET `target` at the listener; 0 when there is no answer.
Task<unsigned> get(std::string origin, std::string target) {
  auto client = base::http::Client::create(*base::http::Origin::parse(origin), {});
  base::http::ClientRequest request;
  request.target = std::move(target);
  auto answer = co_await client->send({}, std::move(request));
  co_return answer ? answer->status : 0U;
}

template <class T>
T run(Task<T> task) {
  asio::io_context loop(1);
  auto done = asio::co_spawn(loop, std::move(task), asio::use_future);
  loop.run();
  return done.get();
}

std::string origin_of(const RedirectListener& listener) {
  std::string uri = listener.redirect_uri();
  return uri.substr(0, uri.rfind('/'));
}

base::Deadline later() { return std::chrono::steady_clock::now() + std::chrono::seconds(60); }

TEST(RedirectListenerTest, a_redirect_that_comes_before_anybody_waits_is_kept) {
  auto listener = RedirectListener::start(0);
  ASSERT_TRUE(listener) << listener.error().message();
  (*listener)->expect("s");
  EXPECT_EQ(run(get(origin_of(**listener), "/callback?code=c&state=s")), 200U);
  EXPECT_EQ(*run((*listener)->wait(later())), "/callback?code=c&state=s");
}

TEST(RedirectListenerTest, only_the_state_opens_it_and_once) {
  auto listener = RedirectListener::start(0);
  ASSERT_TRUE(listener) << listener.error().message();
  std::string origin = origin_of(**listener);
  EXPECT_EQ(run(get(origin, "/callback?code=c&state=")), 400U);
  (*listener)->expect("s");
  for (const char* target : {"/callback", "/callback?state=", "/callback?state=S&code=c"}) {
    EXPECT_EQ(run(get(origin, target)), 400U) << target;
  }
  EXPECT_EQ(run(get(origin, "/?code=c&state=s")), 404U);
  EXPECT_EQ(run(get(origin, "/callback?code=c&state=s")), 200U);
  EXPECT_EQ(run(get(origin, "/callback?code=d&state=s")), 400U);
  EXPECT_EQ(*run((*listener)->wait(later())), "/callback?code=c&state=s");
}

TEST(RedirectListenerTest, waiting_has_an_end) {
  auto listener = RedirectListener::start(0);
  ASSERT_TRUE(listener) << listener.error().message();
  (*listener)->expect("s");
  auto nobody = run((*listener)->wait(std::chrono::steady_clock::now()));
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().kind(), base::ErrorKind::kTimeout);
}

}  // namespace
}  // namespace tool::login
