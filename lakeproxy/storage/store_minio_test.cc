#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <optional>

#include "base/core/text.h"
#include "base/testing/minio_server.h"
#include "lakeproxy/storage/sigv4.h"
#include "lakeproxy/storage/store.h"

namespace lake::storage {
namespace {

namespace asio = boost::asio;
using base::ErrorKind;
using base::RequestContext;
using base::Result;
using base::Status;
using base::Task;
using base::http::Body;
using base::testing::MinioServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::size_t kPartBytes = 5 << 20;

// One server for all tests here, one bucket for each.
class ObjectStoreMinioTest : public ::testing::Test {
 protected:
  static void TearDownTestSuite() { minio.reset(); }

  void SetUp() override {
    if (!minio) {
      auto started = MinioServer::start();
      ASSERT_TRUE(started) << started.error().message() << "\n" << started.error().detail();
      minio.emplace(std::move(*started));
    }
    static int number = 0;
    options.endpoint = minio->endpoint();
    options.bucket = "bucket-" + std::to_string(++number);
    options.access_key = MinioServer::kAccessKey;
    options.secret_key = base::Secret(MinioServer::kSecretKey);
    options.multipart_over = 2 * kPartBytes;
    options.part_bytes = kPartBytes;
    options.first_pause = std::chrono::milliseconds(1);
    store = open(options);
    Status made = run(store->create_bucket(context()));
    ASSERT_TRUE(made) << made.error().detail();
  }

  std::unique_ptr<ObjectStore> open(StoreOptions with) {
    auto made = ObjectStore::create(std::move(with), clock, random);
    EXPECT_TRUE(made) << made.error().message();
    return std::move(*made);
  }
  static RequestContext context() {
    return {.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30)};
  }
  static ObjectKey key(std::string_view text) { return *ObjectKey::parse(text); }

  template <class T>
  T run(Task<T> task) {
    auto future = asio::co_spawn(loop, std::move(task), asio::use_future);
    loop.restart();
    loop.run();
    return future.get();
  }
  void put(const std::string& name, std::string bytes) {
    Status done = run(store->put(context(), key(name), Body(std::move(bytes)), "text/plain"));
    ASSERT_TRUE(done) << name << ": " << done.error().message() << done.error().detail();
  }
  std::vector<std::string> names_under(const std::string& prefix) {
    auto all = run(store->list_all(context(), prefix, 10'000));
    EXPECT_TRUE(all) << all.error().message();
    std::vector<std::string> names;
    for (const auto& object : *all) names.push_back(object.key.text());
    return names;
  }

  static std::optional<MinioServer> minio;
  base::SystemClock clock;
  base::SystemRandom random;
  StoreOptions options;
  asio::io_context loop{1};  // Outlives the store.
  std::unique_ptr<ObjectStore> store;
};

std::optional<MinioServer> ObjectStoreMinioTest::minio;

template <class T>
ErrorKind kind_of(const Result<T>& result) {
  EXPECT_FALSE(result.has_value());
  return result ? ErrorKind::kInternal : result.error().kind();
}

TEST_F(ObjectStoreMinioTest, gives_back_what_was_put) {
  for (std::string bytes : {std::string(), std::string("text"), std::string("\0\xff\r\n", 4),
                            std::string(1 << 20, 'x')}) {
    put("a/b", bytes);
    auto got = run(store->get(context(), key("a/b")));
    ASSERT_TRUE(got);
    EXPECT_TRUE(*got == bytes);
    EXPECT_EQ(run(store->head(context(), key("a/b")))->size, bytes.size());
  }
}

TEST_F(ObjectStoreMinioTest, carries_hostile_keys_unchanged) {
  std::vector<std::string> names{
      "k=v/x=y",   "a+b",     "a b",        "a%20b",
      "a%2Fb",     "a%2520b", "~tilde",     "st*r",
      "p(a)r",     "q'u\"o",  "<&>;",       "a&b=c",
      "quest?x=y", "ha#sh",   "co:lon,@!$", "\xc3\xa4\xe6\x97\xa5\xf0\x9f\x8c\x8a",
      "a\xcc\x88", " lead",   "...x",       "z|{}[]^`"};
  for (const auto& name : names) put("h/" + name, name);
  std::vector<std::string> expected;
  for (const auto& name : names) expected.push_back("h/" + name);
  std::ranges::sort(expected);
  EXPECT_EQ(names_under("h/"), expected);
  std::vector<ObjectKey> keys;
  for (const auto& name : names) {
    auto got = run(store->get(context(), key("h/" + name)));
    ASSERT_TRUE(got) << name << got.error().detail();
    EXPECT_EQ(*got, name);
    EXPECT_EQ(names_under("h/" + name), std::vector<std::string>{"h/" + name}) << name;
    keys.push_back(key("h/" + name));
  }
  auto failures = run(store->remove_many(context(), keys));
  ASSERT_TRUE(failures) << failures.error().message() << failures.error().detail();
  EXPECT_THAT(*failures, IsEmpty());
  EXPECT_THAT(names_under(""), IsEmpty());
}

TEST_F(ObjectStoreMinioTest, reads_ranges) {
  put("r", "0123456789");
  struct Case {
    std::uint64_t offset;
    std::uint64_t length;
    const char* expected;
  };
  for (const Case& c :
       {Case{0, 1, "0"}, Case{0, 10, "0123456789"}, Case{3, 4, "3456"}, Case{9, 1, "9"},
        Case{9, 100, "9"}, Case{0, 1'000'000'000'000, "0123456789"}}) {
    auto got = run(store->get_range(context(), key("r"), c.offset, c.length));
    ASSERT_TRUE(got) << c.offset;
    EXPECT_EQ(*got, c.expected);
  }
  EXPECT_EQ(kind_of(run(store->get_range(context(), key("r"), 10, 1))), ErrorKind::kInvalid);
  EXPECT_EQ(kind_of(run(store->get_range(context(), key("r"), 0, 0))), ErrorKind::kInvalid);
  EXPECT_EQ(kind_of(run(store->get_range(context(), key("r"), 2, UINT64_MAX))),
            ErrorKind::kInvalid);
  EXPECT_EQ(kind_of(run(store->get_range(context(), key("absent"), 0, 1))), ErrorKind::kNotFound);
}

TEST_F(ObjectStoreMinioTest, a_missing_object_is_not_found) {
  EXPECT_EQ(kind_of(run(store->get(context(), key("absent")))), ErrorKind::kNotFound);
  EXPECT_EQ(kind_of(run(store->head(context(), key("absent")))), ErrorKind::kNotFound);
}

TEST_F(ObjectStoreMinioTest, put_if_absent_never_replaces) {
  auto first = run(store->put_if_absent(context(), key("once"), Body("first"), ""));
  ASSERT_TRUE(first) << first.error().detail();
  EXPECT_EQ(*first, PutOutcome::kStored);
  auto second = run(store->put_if_absent(context(), key("once"), Body("second"), ""));
  ASSERT_TRUE(second) << second.error().detail();
  EXPECT_EQ(*second, PutOutcome::kExisted);
  EXPECT_EQ(*run(store->get(context(), key("once"))), "first");
}

TEST_F(ObjectStoreMinioTest, a_sum_that_is_known_is_what_the_store_is_told) {
  const std::string bytes = "summed before";
  const std::string sum = base::to_hex(sha256(bytes));
  EXPECT_TRUE(run(store->put_if_absent(context(), key("summed"), Body(bytes), "", sum)));
  EXPECT_EQ(*run(store->get(context(), key("summed"))), bytes);
  // The store compares it with what arrives.
  EXPECT_FALSE(run(store->put_if_absent(context(), key("other"), Body("other bytes"), "", sum)));
  EXPECT_EQ(kind_of(run(store->get(context(), key("other")))), ErrorKind::kNotFound);
}

TEST_F(ObjectStoreMinioTest, only_one_of_many_puts_if_absent_stores) {
  std::vector<std::future<Result<PutOutcome>>> futures;
  for (int i = 0; i < 16; ++i) {
    futures.push_back(asio::co_spawn(
        loop, store->put_if_absent(context(), key("race"), Body(std::to_string(i)), ""),
        asio::use_future));
  }
  loop.restart();
  loop.run();
  int stored = 0;
  for (auto& future : futures) {
    auto outcome = future.get();
    ASSERT_TRUE(outcome) << outcome.error().detail();
    stored += *outcome == PutOutcome::kStored ? 1 : 0;
  }
  EXPECT_EQ(stored, 1);
}

TEST_F(ObjectStoreMinioTest, splits_large_objects_and_puts_them_together) {
  for (std::size_t size : {2 * kPartBytes, 2 * kPartBytes + 1, 3 * kPartBytes}) {
    std::string bytes(size, 'a');
    for (std::size_t i = 0; i < size; i += 1000) bytes[i] = static_cast<char>('a' + i / 1000 % 26);
    put("large object=1", bytes);
    auto info = run(store->head(context(), key("large object=1")));
    ASSERT_TRUE(info);
    EXPECT_EQ(info->size, size);
    EXPECT_EQ(info->etag.contains("-3\""), size > 2 * kPartBytes) << info->etag;
    auto got = run(store->get(context(), key("large object=1")));
    ASSERT_TRUE(got);
    EXPECT_TRUE(*got == bytes);
  }
}

TEST_F(ObjectStoreMinioTest, an_object_over_the_bound_is_not_read) {
  options.object_bytes = 100'000;
  auto small = open(options);
  put("fits", std::string(100'000, 'x'));
  put("over", std::string(100'001, 'x'));
  EXPECT_TRUE(run(small->get(context(), key("fits"))));
  EXPECT_EQ(kind_of(run(small->get(context(), key("over")))), ErrorKind::kTooLarge);
}

TEST_F(ObjectStoreMinioTest, lists_page_by_page) {
  std::vector<std::future<Status>> puts;
  for (int i = 0; i < 1001; ++i) {
    puts.push_back(
        asio::co_spawn(loop, store->put(context(), key(fmt::format("p/{:04}", i)), Body("abc"), ""),
                       asio::use_future));
  }
  loop.restart();
  loop.run();
  for (auto& done : puts) ASSERT_TRUE(done.get());
  auto first = run(store->list(context(), "p/", ""));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->objects.size(), 1000);
  EXPECT_EQ(first->objects[0].key.text(), "p/0000");
  EXPECT_EQ(first->objects[0].size, 3);
  EXPECT_LT(clock.now() - first->objects[0].modified, std::chrono::minutes(5));
  auto second = run(store->list(context(), "p/", first->continuation));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->objects.size(), 1);
  EXPECT_EQ(second->continuation, "");
  EXPECT_EQ(run(store->list_all(context(), "p/", 1001))->size(), 1001);
  EXPECT_EQ(kind_of(run(store->list_all(context(), "p/", 1000))), ErrorKind::kTooLarge);
  EXPECT_THAT(names_under("p/100"), ElementsAre("p/1000"));
  EXPECT_THAT(names_under("other/"), IsEmpty());
  std::vector<ObjectKey> keys;
  for (int i = 0; i < 1001; ++i) keys.push_back(key(fmt::format("p/{:04}", i)));
  auto failures = run(store->remove_many(context(), keys));
  ASSERT_TRUE(failures);
  EXPECT_THAT(*failures, IsEmpty());
  EXPECT_THAT(names_under(""), IsEmpty());
}

TEST_F(ObjectStoreMinioTest, removing_what_is_not_there_is_done) {
  put("a", "x");
  EXPECT_TRUE(run(store->remove(context(), key("a"))));
  EXPECT_TRUE(run(store->remove(context(), key("a"))));
  EXPECT_EQ(kind_of(run(store->get(context(), key("a")))), ErrorKind::kNotFound);
  auto failures = run(store->remove_many(context(), {key("a"), key("b")}));
  ASSERT_TRUE(failures);
  EXPECT_THAT(*failures, IsEmpty());
  EXPECT_TRUE(run(store->remove_many(context(), {})));
}

TEST_F(ObjectStoreMinioTest, wrong_keys_are_forbidden_and_never_repeated) {
  constexpr const char* kWrong = "wrong-secret-value";
  StoreOptions wrong = options;
  wrong.secret_key = base::Secret(kWrong);
  auto stranger = open(wrong);
  auto got = run(stranger->get(context(), key("a")));
  EXPECT_EQ(kind_of(got), ErrorKind::kForbidden);
  EXPECT_THAT(got.error().detail(), HasSubstr("SignatureDoesNotMatch"));
  for (const auto& text : {got.error().message(), got.error().detail()}) {
    EXPECT_THAT(text, Not(HasSubstr(kWrong)));
    EXPECT_THAT(text, Not(HasSubstr(MinioServer::kAccessKey)));
  }
  EXPECT_EQ(kind_of(run(stranger->put(context(), key("a"), Body("x"), ""))), ErrorKind::kForbidden);
  EXPECT_EQ(kind_of(run(stranger->remove_many(context(), {key("a")}))), ErrorKind::kForbidden);
  EXPECT_EQ(kind_of(run(stranger->ready(context()))), ErrorKind::kForbidden);
  wrong.access_key = "nobody";
  EXPECT_EQ(kind_of(run(open(wrong)->list(context(), "", ""))), ErrorKind::kForbidden);
}

TEST_F(ObjectStoreMinioTest, is_ready_only_with_its_bucket) {
  EXPECT_TRUE(run(store->ready(context())));
  EXPECT_TRUE(run(store->create_bucket(context())));  // Ours already.
  options.bucket = "no-such-bucket";
  auto lost = open(options);
  EXPECT_EQ(kind_of(run(lost->ready(context()))), ErrorKind::kNotFound);
  auto got = run(lost->get(context(), key("a")));
  EXPECT_EQ(kind_of(got), ErrorKind::kNotFound);
  EXPECT_EQ(got.error().reason(), "no_such_bucket");
  EXPECT_EQ(kind_of(run(lost->list(context(), "", ""))), ErrorKind::kNotFound);
}

TEST_F(ObjectStoreMinioTest, the_deadline_bounds_every_operation) {
  RequestContext over{.deadline = std::chrono::steady_clock::now()};
  EXPECT_EQ(kind_of(run(store->get(over, key("a")))), ErrorKind::kTimeout);
  EXPECT_EQ(kind_of(run(store->put(over, key("a"), Body("x"), ""))), ErrorKind::kTimeout);
}

}  // namespace
}  // namespace lake::storage
