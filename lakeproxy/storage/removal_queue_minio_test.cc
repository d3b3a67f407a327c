#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <memory>
#include <optional>

#include "base/testing/minio_server.h"
#include "lakeproxy/measure/wait_meter.h"
#include "lakeproxy/storage/removal_queue.h"
#include "lakeproxy/storage/store.h"

namespace lake::storage {
namespace {

namespace asio = boost::asio;
using base::ErrorKind;
using base::Status;
using base::testing::MinioServer;
using ::testing::ElementsAre;

constexpr std::chrono::hours kForEver{1};

// One server for all tests here, one bucket for each.
class RemovalQueueMinioTest : public ::testing::Test {
 protected:
  static void TearDownTestSuite() { minio.reset(); }

  void SetUp() override {
    if (!minio) {
      auto started = MinioServer::start();
      ASSERT_TRUE(started) << started.error().message() << "\n" << started.error().detail();
      minio.emplace(std::move(*started));
    }
    static int number = 0;
    bucket = "bucket-" + std::to_string(++number);
    store = open(MinioServer::kSecretKey);
    ASSERT_TRUE(run(start(store->create_bucket(context()))));
    for (char name = 'a'; name <= 'f'; ++name) {
      auto put = store->put(context(), key(std::string(1, name)), base::http::Body("x"), "");
      ASSERT_TRUE(run(start(std::move(put))));
    }
  }
  std::unique_ptr<ObjectStore> open(const char* secret) {
    StoreOptions options;
    options.endpoint = minio->endpoint();
    options.bucket = bucket;
    options.access_key = MinioServer::kAccessKey;
    options.secret_key = base::Secret(secret);
    auto made = ObjectStore::create(std::move(options), clock, random);
    EXPECT_TRUE(made);
    return std::move(*made);
  }
  static base::RequestContext context() {
    return {.request_id = 7,
            .deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30)};
  }
  static ObjectKey key(const std::string& text) { return *ObjectKey::parse(text); }
  template <class T>
  std::future<T> start(base::Task<T> task) {
    return asio::co_spawn(loop, std::move(task), asio::use_future);
  }
  template <class T>
  T run(std::future<T> future) {
    while (future.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      if (loop.stopped()) loop.restart();
      loop.run_one();
    }
    return future.get();
  }
  // Until nothing is left to do at once.
  void settle() {
    loop.restart();
    while (loop.poll() > 0) {
    }
  }
  std::vector<std::string> names() {
    std::vector<std::string> names;
    auto all = run(start(store->list_all(context(), "", 100)));
    EXPECT_TRUE(all);
    for (const auto& object : *all) names.push_back(object.key.text());
    return names;
  }

  static std::optional<MinioServer> minio;
  asio::io_context loop{1};  // Outlives the store.
  std::string bucket;
  base::SystemClock clock;
  base::SystemRandom random;
  std::unique_ptr<ObjectStore> store;
};

std::optional<MinioServer> RemovalQueueMinioTest::minio;

TEST_F(RemovalQueueMinioTest, removes_after_the_wait) {
  RemovalQueue queue(*store, {std::chrono::milliseconds(1), 100});
  EXPECT_TRUE(run(start(queue.remove(context(), {key("a"), key("b")}))));
  EXPECT_TRUE(run(start(queue.remove(context(), {key("c"), key("was-never-there")}))));
  EXPECT_THAT(names(), ElementsAre("d", "e", "f"));
}

TEST_F(RemovalQueueMinioTest, those_that_come_meanwhile_share_a_request) {
  RemovalQueue queue(*store, {kForEver, 5});
  measure::WaitMeter meter;
  store->measure_with(meter);
  meter.watch(context().request_id);
  auto first = start(queue.remove(context(), {key("a"), key("b")}));
  auto second = start(queue.remove(context(), {key("c"), key("d")}));
  settle();
  EXPECT_EQ(first.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  auto third = start(queue.remove(context(), {key("e")}));
  EXPECT_TRUE(run(std::move(third)));
  EXPECT_TRUE(run(std::move(first)));
  EXPECT_TRUE(run(std::move(second)));
  EXPECT_EQ(meter.take(context().request_id).store, 1);
  EXPECT_THAT(names(), ElementsAre("f"));
}

TEST_F(RemovalQueueMinioTest, hurry_ends_the_wait_and_later_ones) {
  RemovalQueue queue(*store, {kForEver, 100});
  auto first = start(queue.remove(context(), {key("a")}));
  settle();
  queue.hurry();
  EXPECT_TRUE(run(std::move(first)));
  EXPECT_TRUE(run(start(queue.remove(context(), {key("b")}))));
  EXPECT_THAT(names(), ElementsAre("c", "d", "e", "f"));
}

TEST_F(RemovalQueueMinioTest, a_refusal_reaches_all_who_share_it) {
  auto stranger = open("wrong-secret-value");
  RemovalQueue queue(*stranger, {kForEver, 2});
  auto first = start(queue.remove(context(), {key("a")}));
  auto second = start(queue.remove(context(), {key("b")}));
  for (auto* one : {&first, &second}) {
    Status done = run(std::move(*one));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind(), ErrorKind::kForbidden);
  }
  EXPECT_THAT(names(), ElementsAre("a", "b", "c", "d", "e", "f"));
}

TEST_F(RemovalQueueMinioTest, nothing_to_remove_is_done_at_once) {
  RemovalQueue queue(*store, {kForEver, 100});
  EXPECT_TRUE(run(start(queue.remove(context(), {}))));
}

}  // namespace
}  // namespace lake::storage
