#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include "lakeproxy/http/pipeline.h"
#include "lakeproxy/http/route_table.h"

namespace lake::http {
namespace {

using base::http::Method;

struct TestCall {
  base::http::Request request;
  Call call;
};

std::unique_ptr<TestCall> ask(Method method, const std::string& target, const char* key) {
  auto test_call = std::make_unique<TestCall>();
  test_call->request.method = method;
  test_call->request.target = target;
  if (key != nullptr) test_call->request.headers.add("Idempotency-Key", key);
  test_call->call.request = &test_call->request;
  Match found = match(method, test_call->request.path());
  test_call->call.route = found.route;
  test_call->call.parameters = std::move(found.parameters);
  test_call->call.principal = auth::unauthenticated();
  return test_call;
}

constexpr const char* kKey = "017F22E2-79B0-7CC3-98C4-DC0C0C07398F";
constexpr const char* kChange = "/v1/lake/namespaces/a/tables/t";

TEST(IdempotencyKey, is_a_uuid_of_version_7) {
  const char* refused[] = {"",
                           "key",
                           "017F22E2-79B0-4CC3-98C4-DC0C0C07398F",
                           "017F22E2-79B0-7CC3-18C4-DC0C0C07398F",
                           "017F22E279B07CC398C4DC0C0C07398F",
                           "017F22E2-79B0-7CC3-98C4-DC0C0C07398G",
                           "017F22E2-79B0-7CC3-98C4-DC0C0C07398F0"};
  for (const char* key : refused) {
    auto parsed = idempotency_key_of(ask(Method::kDelete, kChange, key)->call);
    ASSERT_FALSE(parsed) << key;
    EXPECT_EQ(parsed.error().kind(), base::ErrorKind::kInvalid);
  }
  auto upper = idempotency_key_of(ask(Method::kDelete, kChange, kKey)->call);
  auto lower = idempotency_key_of(
      ask(Method::kDelete, kChange, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f")->call);
  ASSERT_TRUE(upper && *upper && lower && *lower);
  EXPECT_EQ((*upper)->id, (*lower)->id);
}

TEST(IdempotencyKey, means_nothing_to_a_read_and_may_be_absent) {
  auto read = idempotency_key_of(ask(Method::kGet, kChange, "garbage")->call);
  ASSERT_TRUE(read);
  EXPECT_FALSE(*read);
  auto absent = idempotency_key_of(ask(Method::kDelete, kChange, nullptr)->call);
  ASSERT_TRUE(absent);
  EXPECT_FALSE(*absent);
}

TEST(IdempotencyKey, tells_one_request_from_another) {
  auto hash = [](const Call& call) { return idempotency_key_of(call)->value().request_hash; };
  auto one = ask(Method::kDelete, kChange, kKey);
  EXPECT_EQ(hash(one->call), hash(ask(Method::kDelete, kChange, kKey)->call));
  EXPECT_NE(hash(one->call), hash(ask(Method::kPost, kChange, kKey)->call));
  EXPECT_NE(hash(one->call),
            hash(ask(Method::kDelete, "/v1/lake/namespaces/a/tables/u", kKey)->call));
  EXPECT_NE(hash(one->call),
            hash(ask(Method::kDelete, std::string(kChange) + "?purgeRequested=true", kKey)->call));
  auto other_body = ask(Method::kDelete, kChange, kKey);
  other_body->request.body = "{}";
  EXPECT_NE(hash(one->call), hash(other_body->call));
  auto other_client = ask(Method::kDelete, kChange, kKey);
  other_client->call.principal.subject = "someone else";
  EXPECT_NE(hash(one->call), hash(other_client->call));
  auto other_issuer = ask(Method::kDelete, kChange, kKey);
  other_issuer->call.principal.issuer = "https://elsewhere";
  EXPECT_NE(hash(one->call), hash(other_issuer->call));
}

TEST(IdempotencyKey, parts_of_a_request_do_not_run_into_each_other) {
  auto hash = [](const Call& call) { return idempotency_key_of(call)->value().request_hash; };
  auto subject = ask(Method::kDelete, kChange, kKey);
  subject->call.principal.subject = "a\nb";
  auto body = ask(Method::kDelete, kChange, kKey);
  body->call.principal.subject = "a";
  body->request.body = "b\n";
  EXPECT_NE(hash(subject->call), hash(body->call));
}

TEST(IdempotencyKey, policy_is_asked_before_the_key_is_looked_up) {
  auto test_call = ask(Method::kDelete, kChange, kKey);
  test_call->call.key = *idempotency_key_of(test_call->call);
  test_call->call.principal.superuser = false;
  base::SystemClock clock;
  base::log::LogOutput log({.level = base::log::Level::kError}, clock);
  Services services;
  services.home = std::make_shared<operation::Catalog>();
  services.home->log.emplace(log);
  test_call->call.services = &services;
  ASSERT_EQ(test_call->call.catalog(), nullptr) << "whoever looks a key up here, crashes";
  boost::asio::io_context loop;
  auto answer = boost::asio::co_spawn(
      loop, test_call->call.route->endpoint.run({}, &test_call->call), boost::asio::use_future);
  loop.run();
  EXPECT_EQ(answer.get().status, 403U);
}

TEST(IdempotencyKey, every_change_of_a_catalog_can_be_told_again) {
  for (const Route& route : route_table()) {
    // What governance registers is replaced by the same request: made twice it is the same.
    bool is_upsert = route.path.starts_with("/v1/{prefix}/governance/");
    bool takes_key =
        route.effect != Effect::kRead && route.path.starts_with("/v1/{prefix}/") && !is_upsert;
    EXPECT_EQ(route.endpoint.can_be_told_again(), takes_key) << route.operation;
  }
}

}  // namespace
}  // namespace lake::http
