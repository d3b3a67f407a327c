#include "base/websocket/accept.h"

#include <gtest/gtest.h>

namespace base::ws {
namespace {

Task<void> no_session(std::unique_ptr<Connection>) { co_return; }

// A request that is accepted with default options.
http::Request good() {
  http::Request request;
  request.target = "/";
  request.headers.add("Host", "localhost:8080");
  request.headers.add("Upgrade", "websocket");
  request.headers.add("Connection", "keep-alive, Upgrade");
  request.headers.add("Sec-WebSocket-Version", "13");
  request.headers.add("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
  return request;
}

http::Request with(std::string name, std::string value) {
  http::Request request = good();
  request.headers.set(name, std::move(value));
  return request;
}

http::Request also(std::string name, std::string value) {
  http::Request request = good();
  request.headers.add(std::move(name), std::move(value));
  return request;
}

http::Request without(std::string_view name) {
  http::Request request = good();
  http::Headers headers;
  for (const auto& field : request.headers.fields()) {
    if (field.name != name) headers.add(field.name, field.value);
  }
  request.headers = headers;
  return request;
}

TEST(AcceptTest, upgrades_a_good_request) {
  http::Response response = accept(good(), {}, no_session);
  EXPECT_EQ(response.status, 101u);
  EXPECT_TRUE(response.upgrade);
  EXPECT_EQ(response.headers.get("Upgrade"), "websocket");
  EXPECT_EQ(response.headers.get("Sec-WebSocket-Accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(response.headers.get("Sec-WebSocket-Protocol"), std::nullopt);
  EXPECT_EQ(response.headers.get("Sec-WebSocket-Extensions"), std::nullopt);
}

TEST(AcceptTest, names_compare_without_case) {
  http::Request request = with("Upgrade", "WebSocket");
  request.headers.set("Connection", "UPGRADE");
  EXPECT_EQ(accept(request, {}, no_session).status, 101u);
}

TEST(AcceptTest, agrees_on_no_extension_though_offered) {
  http::Response response =
      accept(also("Sec-WebSocket-Extensions", "permessage-deflate"), {}, no_session);
  EXPECT_EQ(response.status, 101u);
  EXPECT_EQ(response.headers.get("Sec-WebSocket-Extensions"), std::nullopt);
}

TEST(AcceptTest, refuses_what_is_no_opening_handshake) {
  http::Request post = good();
  post.method = http::Method::kPost;
  http::Request body = good();
  body.body = "x";
  struct Case {
    const char* name;
    http::Request request;
    unsigned status;
  };
  for (const Case& c : {
           Case{"POST", post, 405},
           Case{"a body", body, 400},
           Case{"no Upgrade", without("Upgrade"), 426},
           Case{"another upgrade", with("Upgrade", "h2c"), 426},
           Case{"no Connection", without("Connection"), 426},
           Case{"Connection does not name it", with("Connection", "keep-alive"), 426},
           Case{"no version", without("Sec-WebSocket-Version"), 426},
           Case{"version 8", with("Sec-WebSocket-Version", "8"), 426},
           Case{"version twice", also("Sec-WebSocket-Version", "13"), 426},
           Case{"no key", without("Sec-WebSocket-Key"), 400},
           Case{"short key", with("Sec-WebSocket-Key", "abc"), 400},
           Case{"key twice", also("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="), 400},
       }) {
    http::Response response = accept(c.request, {}, no_session);
    EXPECT_EQ(response.status, c.status) << c.name;
    EXPECT_FALSE(response.upgrade) << c.name;
  }
}

TEST(AcceptTest, tells_which_version_it_speaks) {
  http::Response response = accept(with("Sec-WebSocket-Version", "25"), {}, no_session);
  EXPECT_EQ(response.headers.get("Sec-WebSocket-Version"), "13");
  EXPECT_EQ(response.headers.get("Upgrade"), "websocket");
}

TEST(AcceptTest, takes_listed_origins_only) {
  AcceptOptions options{.origins = {"https://a.example", "http://localhost:3000"}};
  struct Case {
    const char* origin;
    unsigned status;
  };
  for (auto [origin, status] :
       {Case{"https://a.example", 101}, Case{"http://localhost:3000", 101},
        Case{"https://a.example.evil.example", 403}, Case{"https://A.example", 403},
        Case{"http://a.example", 403}, Case{"https://a.example/", 403}, Case{"null", 403},
        Case{"", 403}}) {
    EXPECT_EQ(accept(with("Origin", origin), options, no_session).status, status) << origin;
  }
  EXPECT_EQ(accept(with("Origin", "https://a.example"), {}, no_session).status, 403u);
  http::Request two = with("Origin", "https://a.example");
  two.headers.add("Origin", "https://b.example");
  EXPECT_EQ(accept(two, options, no_session).status, 403u);
}

TEST(AcceptTest, takes_loopback_hosts_only_where_asked_to) {
  struct Case {
    const char* host;
    unsigned status;
  };
  for (auto [host, status] : {Case{"localhost", 101}, Case{"LocalHost:1", 101},
                              Case{"127.0.0.1:80", 101}, Case{"127.9.9.9", 101}, Case{"[::1]", 101},
                              Case{"[::1]:443", 101}, Case{"evil.example", 421},
                              Case{"evil.example:80", 421}, Case{"localhost.evil.example", 421},
                              Case{"127.0.0.1.evil.example", 421}, Case{"[::1].evil.example", 421},
                              Case{"[::2]", 421}, Case{"10.0.0.1", 421}, Case{"", 421}}) {
    EXPECT_EQ(accept(with("Host", host), {}, no_session).status, status) << host;
    AcceptOptions any{.host_check = HostCheck::kAny};
    EXPECT_EQ(accept(with("Host", host), any, no_session).status, 101u) << host;
  }
  EXPECT_EQ(accept(also("Host", "localhost"), {}, no_session).status, 421u);
}

TEST(AcceptTest, requires_its_subprotocol) {
  AcceptOptions options{.subprotocol = "scp.v3.json"};
  EXPECT_EQ(accept(good(), options, no_session).status, 400u);
  EXPECT_EQ(accept(with("Sec-WebSocket-Protocol", "scp.v2.json"), options, no_session).status,
            400u);
  EXPECT_EQ(accept(with("Sec-WebSocket-Protocol", "SCP.V3.JSON"), options, no_session).status,
            400u);
  http::Request offers = with("Sec-WebSocket-Protocol", "a, b");
  offers.headers.add("Sec-WebSocket-Protocol", "scp.v3.json,c");
  http::Response response = accept(offers, options, no_session);
  EXPECT_EQ(response.status, 101u);
  EXPECT_EQ(response.headers.get("Sec-WebSocket-Protocol"), "scp.v3.json");
}

}  // namespace
}  // namespace base::ws
