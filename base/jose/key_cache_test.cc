#include "base/jose/key_cache.h"

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include "base/jose/forge_test.h"
#include "base/jose/jwks.h"
#include "base/jose/provider_test.h"

namespace base::jose {
namespace {

using namespace testing;
using std::chrono::seconds;

std::string keys_named(std::vector<std::string> kids) {
  std::vector<Verifier> keys;
  for (auto& kid : kids) {
    keys.push_back(
        Verifier::with_key(Algorithm::kRs256, issuer_key().verify_key(), std::move(kid)).value());
  }
  return write_jwks(keys);
}

class KeyCacheTest : public LoopTest {
 protected:
  std::unique_ptr<KeyCache> make(KeyCacheOptions options) {
    if (options.url.empty()) options.url = provider.url();
    if (options.ca_file.empty()) options.ca_file = certificate.files().certificate_chain;
    return KeyCache::create(loop.get_executor(), std::move(options), clock).value();
  }
  /// "found", or the reason or kind of the refusal.
  std::string find(KeyCache& cache, std::string kid) {
    auto found = run(cache.find({}, std::move(kid)));
    if (found) return "found";
    if (!found.error().reason().empty()) return std::string(found.error().reason());
    return std::string(to_string(found.error().kind()));
  }

  Provider provider{&certificate};
};

TEST_F(KeyCacheTest, keys_are_fetched_once_and_used_while_they_are_fresh) {
  provider.answer({.body = keys_named({"k1"})});
  auto cache = make({});
  EXPECT_EQ(cache->fetches(), 0U);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(find(*cache, "k1"), "found");
  clock.advance(seconds(599));
  EXPECT_EQ(find(*cache, "k1"), "found");
  EXPECT_EQ(provider.requests(), 1);
  EXPECT_EQ(provider.last().target, "/keys?v=1");
  clock.advance(seconds(1));
  EXPECT_EQ(find(*cache, "k1"), "found");
  EXPECT_EQ(provider.requests(), 2);
}

TEST_F(KeyCacheTest, a_rotated_key_is_found_and_a_withdrawn_one_is_not) {
  provider.answer({.body = keys_named({"old"})});
  auto cache = make({});
  EXPECT_EQ(find(*cache, "old"), "found");
  provider.answer({.body = keys_named({"new"})});
  clock.advance(seconds(30));
  EXPECT_EQ(find(*cache, "new"), "found");
  EXPECT_EQ(find(*cache, "old"), reason::kKey);
  EXPECT_EQ(provider.requests(), 2);
}

TEST_F(KeyCacheTest, invented_kids_cause_one_fetch_in_30_seconds) {
  provider.answer({.body = keys_named({"k1"})});
  auto cache = make({});
  EXPECT_EQ(find(*cache, "x0"), reason::kKey);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(find(*cache, fmt::format("x{}", i)), reason::kKey);
  clock.advance(seconds(29));
  EXPECT_EQ(find(*cache, "x"), reason::kKey);
  EXPECT_EQ(provider.requests(), 1);
  clock.advance(seconds(1));
  EXPECT_EQ(find(*cache, "x"), reason::kKey);
  EXPECT_EQ(find(*cache, "y"), reason::kKey);
  EXPECT_EQ(provider.requests(), 2);
}

TEST_F(KeyCacheTest, what_is_no_key_id_causes_no_fetch) {
  auto cache = make({});
  for (const std::string& kid : {std::string(), std::string("../k"), std::string(65, 'k')}) {
    EXPECT_EQ(find(*cache, kid), reason::kKey);
  }
  EXPECT_EQ(cache->fetches(), 0U);
}

TEST_F(KeyCacheTest, stale_keys_serve_an_hour_while_fetching_fails) {
  provider.answer({.body = keys_named({"k1"})});
  auto cache = make({});
  EXPECT_EQ(find(*cache, "k1"), "found");
  provider.answer({.status = 503});
  clock.advance(seconds(600));
  EXPECT_EQ(find(*cache, "k1"), "found");
  EXPECT_EQ(provider.requests(), 2);
  EXPECT_EQ(find(*cache, "k1"), "found");  // In the pause after a failure.
  EXPECT_EQ(provider.requests(), 2);
  clock.advance(seconds(3599));
  EXPECT_EQ(find(*cache, "k1"), "found");
  EXPECT_EQ(find(*cache, "k2"), "unavailable");  // There may be such a key.
  clock.advance(seconds(1));
  EXPECT_EQ(find(*cache, "k1"), "unavailable");
  provider.answer({.body = keys_named({"k1"})});
  clock.advance(seconds(5));
  EXPECT_EQ(find(*cache, "k1"), "found");
}

TEST_F(KeyCacheTest, a_clock_set_back_makes_keys_neither_fresh_nor_lost) {
  provider.answer({.body = keys_named({"k1"})});
  auto cache = make({});
  EXPECT_EQ(find(*cache, "k1"), "found");
  clock.advance(seconds(-3600));
  EXPECT_EQ(find(*cache, "k1"), "found");
  EXPECT_EQ(provider.requests(), 2);
}

TEST_F(KeyCacheTest, answers_that_are_no_key_set_are_failures) {
  struct Case {
    std::string name;
    Reply reply;
  };
  std::string elsewhere = provider.url("127.0.0.1", "/elsewhere");
  for (const Case& c : {
           Case{"not found", {.status = 404, .body = keys_named({"k1"})}},
           Case{"failing", {.status = 500}},
           Case{"no content", {.status = 204}},
           Case{"partial", {.status = 206, .body = keys_named({"k1"})}},
           Case{"moved", {.status = 301, .body = keys_named({"k1"}), .location = elsewhere}},
           Case{"found elsewhere", {.status = 302, .location = elsewhere}},
           Case{"redirected", {.status = 307, .location = elsewhere}},
           Case{"redirected to plain", {.status = 308, .location = "http://127.0.0.1/"}},
           Case{"a web page", {.body = "<html>"}},
           Case{"empty", {.body = ""}},
           Case{"another object", {.body = "{}"}},
           Case{"huge", {.body = keys_named({"k1"}) + std::string(256 * 1024, ' ')}},
       }) {
    provider.answer(c.reply);
    int before = provider.requests();
    auto cache = make({});
    EXPECT_EQ(find(*cache, "k1"), "unavailable") << c.name;
    EXPECT_EQ(find(*cache, "k1"), "unavailable") << c.name;
    EXPECT_EQ(provider.requests(), before + 1) << c.name << ": nothing was followed or repeated";
    provider.answer({.body = keys_named({"k1"})});
    clock.advance(seconds(5));
    EXPECT_EQ(find(*cache, "k1"), "found") << c.name;
  }
}

TEST_F(KeyCacheTest, a_set_of_256_KiB_is_read) {
  std::string body = keys_named({"k1"});
  body.append(kMaxJwksBytes - body.size(), ' ');
  provider.answer({.body = body});
  EXPECT_EQ(find(*make({}), "k1"), "found");
}

TEST_F(KeyCacheTest, a_slow_issuer_is_given_up_and_stale_keys_serve) {
  provider.answer({.body = keys_named({"k1"})});
  auto cache = make({.fetch_time = milliseconds(100)});
  EXPECT_EQ(find(*cache, "k1"), "found");
  provider.answer({.body = keys_named({"k1"}), .holds = Holds::kUntilReleased});
  clock.advance(seconds(600));
  EXPECT_EQ(find(*cache, "k1"), "found");
  auto cold = make({.fetch_time = milliseconds(100)});
  EXPECT_EQ(find(*cold, "k1"), "unavailable");
}

TEST_F(KeyCacheTest, an_issuer_that_is_gone_is_unavailable) {
  provider.stop();
  EXPECT_EQ(find(*make({}), "k1"), "unavailable");
}

TEST_F(KeyCacheTest, callers_share_one_fetch) {
  provider.answer({.body = keys_named({"k1"}), .holds = Holds::kUntilReleased});
  auto cache = make({});
  std::vector<std::shared_ptr<std::optional<Result<Verifier>>>> found;
  for (int i = 0; i < 20; ++i) found.push_back(spawn(cache->find({}, "k1")));
  auto unknown = spawn(cache->find({}, "k2"));
  run_until([&] { return provider.holding() == 1; });
  provider.release();
  for (auto& one : found) {
    run_until([&] { return one->has_value(); });
    EXPECT_TRUE(one->value().has_value());
  }
  run_until([&] { return unknown->has_value(); });
  EXPECT_EQ(unknown->value().error().reason(), reason::kKey);
  EXPECT_EQ(provider.requests(), 1);
  EXPECT_EQ(cache->fetches(), 1U);
}

TEST_F(KeyCacheTest, a_caller_that_leaves_does_not_take_the_fetch_along) {
  provider.answer({.body = keys_named({"k1"}), .holds = Holds::kUntilReleased});
  auto cache = make({});
  asio::cancellation_signal cancel;
  auto cancelled = std::make_shared<std::optional<Result<Verifier>>>();
  asio::co_spawn(loop, keep(cache->find({}, "k1"), cancelled),
                 asio::bind_cancellation_slot(cancel.slot(), [](std::exception_ptr) {}));
  RequestContext hurried{.deadline = std::chrono::steady_clock::now() + milliseconds(50)};
  auto late = spawn(cache->find(hurried, "k1"));
  auto patient = spawn(cache->find({}, "k1"));
  run_until([&] { return provider.holding() == 1; });
  cancel.emit(asio::cancellation_type::terminal);
  run_until([&] { return cancelled->has_value() && late->has_value(); });
  EXPECT_EQ(cancelled->value().error().kind(), ErrorKind::kCancelled);
  EXPECT_EQ(late->value().error().kind(), ErrorKind::kTimeout);
  EXPECT_FALSE(patient->has_value());
  provider.release();
  run_until([&] { return patient->has_value(); });
  EXPECT_TRUE(patient->value().has_value());
  EXPECT_EQ(provider.requests(), 1);
}

TEST_F(KeyCacheTest, a_fetch_outlives_the_cache_and_can_be_waited_for) {
  provider.answer({.body = keys_named({"k1"}), .holds = Holds::kUntilReleased});
  auto cache = make({});
  auto found = spawn(cache->find({}, "k1"));
  run_until([&] { return provider.holding() == 1; });
  auto waiting = cache->wait();
  cache.reset();
  provider.release();
  run_to_end(std::move(waiting));
  run_until([&] { return found->has_value(); });
  EXPECT_TRUE(found->value().has_value());
}

TEST_F(KeyCacheTest, tokens_of_the_issuer_pass_and_others_cause_no_fetch) {
  provider.answer({.body = keys_named({"k1"})});
  auto cache = make({});
  auto check = [&](std::string token) {
    auto claims = run(cache->verify({}, std::move(token), rules()));
    return claims ? claims->subject() : std::string(claims.error().reason());
  };
  EXPECT_EQ(check("nonsense"), reason::kMalformed);
  EXPECT_EQ(check(with_header(R"({"alg":"none","typ":"at+jwt","kid":"k1"})")), reason::kAlgorithm);
  EXPECT_EQ(check(with_header(R"({"alg":"RS256","typ":"at+jwt"})")), reason::kKey);
  EXPECT_EQ(provider.requests(), 0);
  EXPECT_EQ(check(with_header(kHeader)), "agent-7");
  EXPECT_EQ(check(forge(kHeader, claims(), signer_of(Algorithm::kRs256, other_key()))),
            reason::kSignature);
  EXPECT_EQ(check(with_claim("aud", R"("api://mail")")), reason::kAudience);
  clock.advance(seconds(630));
  EXPECT_EQ(check(with_header(kHeader)), reason::kExpired);
}

// ---- Whom the keys are taken from ----

TEST_F(KeyCacheTest, the_issuer_must_show_a_certificate_of_the_trusted_root) {
  provider.answer({.body = keys_named({"k1"})});
  Certificate stranger("IP:127.0.0.1");
  EXPECT_EQ(find(*make({.ca_file = stranger.files().certificate_chain}), "k1"), "unavailable");
  EXPECT_EQ(find(*make({.ca_file = "/nowhere"}), "k1"), "unavailable");
  auto by_system_roots =
      KeyCache::create(loop.get_executor(), {.url = provider.url()}, clock).value();
  EXPECT_EQ(find(*by_system_roots, "k1"), "unavailable");
  EXPECT_EQ(provider.requests(), 0);
}

TEST_F(KeyCacheTest, the_certificate_must_be_for_the_host) {
  for (const std::string& names :
       {std::string("DNS:localhost"), std::string("IP:127.0.0.2"), std::string("DNS:127.0.0.1")}) {
    Certificate other(names);
    Provider elsewhere(&other);
    elsewhere.answer({.body = keys_named({"k1"})});
    auto cache = make({.url = elsewhere.url(), .ca_file = other.files().certificate_chain});
    EXPECT_EQ(find(*cache, "k1"), "unavailable") << names;
    EXPECT_EQ(elsewhere.requests(), 0) << names;
  }
  Certificate named("DNS:localhost");
  Provider local(&named);
  local.answer({.body = keys_named({"k1"})});
  auto cache = make({.url = local.url("localhost"), .ca_file = named.files().certificate_chain});
  EXPECT_EQ(find(*cache, "k1"), "found");
}

TEST_F(KeyCacheTest, plain_http_is_refused_unless_a_test_allows_it_on_loopback) {
  Provider plain(nullptr);
  plain.answer({.body = keys_named({"k1"})});
  auto refused = KeyCache::create(loop.get_executor(), {.url = plain.url()}, clock);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalid);
  auto cache = make({.url = plain.url(), .plain_http = PlainHttp::kOnLoopbackForTests});
  EXPECT_EQ(find(*cache, "k1"), "found");
}

}  // namespace
}  // namespace base::jose
