#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <optional>

#include "base/core/text.h"
#include "base/testing/scripted_server.h"
#include "lakeproxy/storage/md5.h"
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
using base::testing::Act;
using base::testing::ScriptedServer;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::size_t kPartBytes = 5 << 20;

std::string answer(unsigned status, std::string_view code = "", std::string_view headers = "") {
  std::string body = code.empty() ? "" : fmt::format("<Error><Code>{}</Code></Error>", code);
  return fmt::format("HTTP/1.1 {} Status\r\n{}Content-Length: {}\r\n\r\n{}", status, headers,
                     body.size(), body);
}

const std::string kOk = answer(200);
const Act kSlowDown{.answer = answer(503, "SlowDown")};
const Act kLost{.then = Act::kClose};  // Reads the request, never answers.

struct ObjectStoreFaultTest : ::testing::Test {
  void SetUp() override {
    options.bucket = "bucket";
    options.access_key = "access-key";
    options.secret_key = base::Secret("secret-key");
    options.multipart_over = kPartBytes;
    options.part_bytes = kPartBytes;
    options.first_pause = std::chrono::milliseconds(1);
  }
  void serve(ScriptedServer::Script script) {
    server = std::make_unique<ScriptedServer>(loop, std::move(script));
    options.endpoint = fmt::format("http://127.0.0.1:{}", server->port());
    auto made = ObjectStore::create(options, clock, random);
    ASSERT_TRUE(made) << made.error().message();
    store = std::move(*made);
  }
  static RequestContext context(std::chrono::milliseconds limit = std::chrono::seconds(10)) {
    return {.deadline = std::chrono::steady_clock::now() + limit};
  }
  template <class T>
  T run(Task<T> task) {
    auto future = asio::co_spawn(loop, std::move(task), asio::use_future);
    while (future.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      if (loop.stopped()) loop.restart();
      loop.run_one();
    }
    return future.get();
  }

  base::SystemClock clock;
  base::SystemRandom random;
  asio::io_context loop{1};
  StoreOptions options;
  std::unique_ptr<ScriptedServer> server;
  std::unique_ptr<ObjectStore> store;
  ObjectKey key = *ObjectKey::parse("k");
};

template <class T>
ErrorKind kind_of(const Result<T>& result) {
  EXPECT_FALSE(result.has_value());
  return result ? ErrorKind::kInternal : result.error().kind();
}

TEST_F(ObjectStoreFaultTest, repeats_after_failures_that_pass) {
  serve({{kSlowDown, {.answer = answer(500)}, {.answer = base::testing::http_ok("data")}}});
  auto got = run(store->get(context(), key));
  ASSERT_TRUE(got) << got.error().detail();
  EXPECT_EQ(*got, "data");
  EXPECT_EQ(server->requests().size(), 3);
}

TEST_F(ObjectStoreFaultTest, gives_up_after_the_last_try) {
  serve({{kSlowDown, kSlowDown, kSlowDown, {.answer = kOk}}});
  auto got = run(store->get(context(), key));
  EXPECT_EQ(kind_of(got), ErrorKind::kUnavailable);
  EXPECT_THAT(got.error().detail(), HasSubstr("SlowDown"));
  EXPECT_EQ(server->requests().size(), 3);
}

TEST_F(ObjectStoreFaultTest, does_not_pause_past_the_deadline) {
  options.first_pause = std::chrono::hours(1);
  serve({{kSlowDown, {.answer = kOk}}});
  EXPECT_EQ(kind_of(run(store->get(context(), key))), ErrorKind::kUnavailable);
  EXPECT_EQ(server->requests().size(), 1);
}

TEST_F(ObjectStoreFaultTest, final_answers_are_not_repeated) {
  for (unsigned status : {400u, 403u, 404u, 301u}) {
    serve({{{.answer = answer(status)}, {.answer = kOk}}});
    EXPECT_FALSE(run(store->get(context(), key)));
    EXPECT_EQ(server->requests().size(), 1) << status;
  }
}

TEST_F(ObjectStoreFaultTest, a_read_without_answer_is_unavailable) {
  serve({{kLost}, {kLost}, {kLost}});
  EXPECT_EQ(kind_of(run(store->get(context(), key))), ErrorKind::kUnavailable);
  EXPECT_EQ(server->requests().size(), 3);
}

TEST_F(ObjectStoreFaultTest, a_change_without_answer_is_unknown) {
  serve({{kLost}, {kLost}, {kLost}});
  EXPECT_EQ(kind_of(run(store->put(context(), key, Body("x"), ""))), ErrorKind::kOutcomeUnknown);
  // Also when the last try was certainly in vain.
  serve({{kLost}, {kSlowDown, kSlowDown}});
  EXPECT_EQ(kind_of(run(store->put(context(), key, Body("x"), ""))), ErrorKind::kOutcomeUnknown);
  serve({{kSlowDown, kSlowDown, kSlowDown}});
  EXPECT_EQ(kind_of(run(store->put(context(), key, Body("x"), ""))), ErrorKind::kUnavailable);
}

TEST_F(ObjectStoreFaultTest, a_store_that_is_not_there_is_unavailable) {
  serve({});
  server->close();
  EXPECT_EQ(kind_of(run(store->put(context(), key, Body("x"), ""))), ErrorKind::kUnavailable);
}

TEST_F(ObjectStoreFaultTest, put_if_absent_comes_again_after_a_clash_of_writers) {
  serve({{{.answer = answer(409, "ConditionalRequestConflict")}, {.answer = kOk}}});
  EXPECT_EQ(*run(store->put_if_absent(context(), key, Body("x"), "")), PutOutcome::kStored);
  serve({{{.answer = answer(409, "ConditionalRequestConflict")},
          {.answer = answer(412, "PreconditionFailed")}}});
  EXPECT_EQ(*run(store->put_if_absent(context(), key, Body("x"), "")), PutOutcome::kExisted);
  Act clash{.answer = answer(409, "ConditionalRequestConflict")};
  serve({{clash, clash, clash}});
  EXPECT_EQ(kind_of(run(store->put_if_absent(context(), key, Body("x"), ""))),
            ErrorKind::kConflict);
  EXPECT_THAT(server->requests()[0], HasSubstr("\r\nIf-None-Match: *\r\n"));
}

TEST_F(ObjectStoreFaultTest, a_range_that_was_not_asked_for_is_refused) {
  for (const char* range : {"Content-Range: bytes 1-2/10\r\n", "", "Content-Range: x\r\n"}) {
    serve({{{.answer = answer(206, "", range)}}});
    EXPECT_EQ(kind_of(run(store->get_range(context(), key, 0, 2))), ErrorKind::kCorrupt) << range;
  }
  serve({{{.answer = base::testing::http_ok("all of it")}}});
  EXPECT_EQ(kind_of(run(store->get_range(context(), key, 0, 2))), ErrorKind::kUnsupported);
}

TEST_F(ObjectStoreFaultTest, an_endless_listing_ends) {
  std::string page =
      "<ListBucketResult><IsTruncated>true</IsTruncated>"
      "<NextContinuationToken>t</NextContinuationToken></ListBucketResult>";
  serve({std::vector<Act>(1000, {.answer = base::testing::http_ok(page)})});
  EXPECT_EQ(kind_of(run(store->list_all(context(), "", 5))), ErrorKind::kTooLarge);
  EXPECT_LT(server->requests().size(), 200);
}

// ---- Objects in parts ----

const std::string kOpened = base::testing::http_ok(
    "<InitiateMultipartUploadResult><UploadId>id</UploadId></InitiateMultipartUploadResult>");
const std::string kPartETag = "\"" + base::to_hex(md5("x")) + "\"";
const Act kPartStored{.answer = answer(200, "", "ETag: " + kPartETag + "\r\n")};
const std::string kCompleted = base::testing::http_ok("<CompleteMultipartUploadResult/>");

std::string etag_of_two_parts() {
  Md5 digest = md5("x");
  std::string one(digest.begin(), digest.end());
  return "\"" + base::to_hex(md5(one + one)) + "-2\"";
}

Body two_parts() { return Body(std::string(kPartBytes + 1, 'x')); }

TEST_F(ObjectStoreFaultTest, a_part_that_fails_abandons_the_upload) {
  serve({{{.answer = kOpened},
          kPartStored,
          {.answer = answer(403, "AccessDenied")},
          {.answer = answer(204)}}});
  EXPECT_EQ(kind_of(run(store->put(context(), key, two_parts(), ""))), ErrorKind::kForbidden);
  ASSERT_EQ(server->requests().size(), 4);
  EXPECT_THAT(server->requests()[3], StartsWith("DELETE /bucket/k?uploadId=id "));
}

TEST_F(ObjectStoreFaultTest, lost_parts_leave_nothing_changed) {
  serve({{{.answer = kOpened}, kLost}, {kLost}, {kLost}, {kLost}, {{.answer = answer(204)}}});
  EXPECT_EQ(kind_of(run(store->put(context(), key, two_parts(), ""))), ErrorKind::kUnavailable);
  EXPECT_THAT(server->requests().back(), StartsWith("DELETE /bucket/k?uploadId=id "));
}

TEST_F(ObjectStoreFaultTest, an_error_in_a_good_answer_fails_the_upload) {
  serve({{{.answer = kOpened},
          kPartStored,
          kPartStored,
          {.answer = base::testing::http_ok("<Error><Code>InternalError</Code></Error>")},
          {.answer = answer(204)}}});
  EXPECT_EQ(kind_of(run(store->put(context(), key, two_parts(), ""))), ErrorKind::kUnavailable);
  EXPECT_THAT(server->requests().back(), StartsWith("DELETE /bucket/k?uploadId=id "));
}

TEST_F(ObjectStoreFaultTest, finds_the_object_when_the_answer_to_completion_was_lost) {
  struct Case {
    const char* name;
    std::string head;
    bool stored;
  };
  for (const Case& c :
       std::vector<Case>{{"ours", answer(200, "", "ETag: " + etag_of_two_parts() + "\r\n"), true},
                         {"another", answer(200, "", "ETag: \"other-2\"\r\n"), false},
                         {"none", answer(404), false}}) {
    serve({{{.answer = kOpened}, kPartStored, kPartStored, kLost},
           {{.answer = answer(404, "NoSuchUpload")}, {.answer = c.head}}});
    Status done = run(store->put(context(), key, two_parts(), ""));
    EXPECT_EQ(done.has_value(), c.stored) << c.name;
    if (!c.stored) {
      EXPECT_EQ(kind_of(done), ErrorKind::kOutcomeUnknown) << c.name;
    }
    EXPECT_THAT(server->requests().back(), StartsWith("HEAD /bucket/k ")) << c.name;
  }
}

TEST_F(ObjectStoreFaultTest, a_cancelled_upload_is_abandoned) {
  serve({{{.answer = kOpened}, {.then = Act::kHang}}, {{.answer = answer(204)}}});
  asio::cancellation_signal cancel;
  std::optional<Status> done;
  asio::co_spawn(
      loop, store->put(context(), key, two_parts(), ""),
      asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr thrown, Status status) {
        EXPECT_FALSE(thrown);
        done.emplace(std::move(status));
      }));
  while (server->requests().size() < 2) loop.run_one();
  cancel.emit(asio::cancellation_type::terminal);
  while (!done) loop.run_one();
  EXPECT_EQ(kind_of(*done), ErrorKind::kCancelled);
  EXPECT_THAT(server->requests().back(), StartsWith("DELETE /bucket/k?uploadId=id "));
}

TEST_F(ObjectStoreFaultTest, a_cancelled_pause_ends_at_once) {
  options.first_pause = std::chrono::seconds(8);
  serve({{kSlowDown, {.answer = kOk}}});
  asio::cancellation_signal cancel;
  std::optional<Result<std::string>> got;
  asio::co_spawn(loop, store->get(context(std::chrono::minutes(1)), key),
                 asio::bind_cancellation_slot(
                     cancel.slot(), [&](std::exception_ptr thrown, Result<std::string> result) {
                       EXPECT_FALSE(thrown);
                       got.emplace(std::move(result));
                     }));
  while (server->requests().empty()) loop.run_one();
  loop.run_for(std::chrono::milliseconds(20));  // The answer arrives, the pause begins.
  cancel.emit(asio::cancellation_type::terminal);
  while (!got) loop.run_one();
  EXPECT_EQ(kind_of(*got), ErrorKind::kCancelled);
}

// ---- Addresses and options ----

TEST_F(ObjectStoreFaultTest, a_secret_is_sent_only_as_a_signature) {
  serve({{{.answer = kOk}}});
  ASSERT_TRUE(run(store->put(context(), key, Body("x"), "text/plain")));
  EXPECT_THAT(server->requests()[0], StartsWith("PUT /bucket/k HTTP/1.1\r\n"));
  EXPECT_THAT(server->requests()[0], HasSubstr("\r\nContent-Type: text/plain\r\n"));
  EXPECT_THAT(server->requests()[0], HasSubstr("Credential=access-key/"));
  EXPECT_THAT(server->requests()[0], Not(HasSubstr("secret-key")));
}

TEST_F(ObjectStoreFaultTest, refuses_options_that_cannot_work) {
  serve({});
  struct Case {
    const char* name;
    std::function<void(StoreOptions&)> change;
  };
  for (const Case& c :
       std::vector<Case>{{"endpoint", [](auto& o) { o.endpoint = "127.0.0.1"; }},
                         {"endpoint with a path", [](auto& o) { o.endpoint += "/x"; }},
                         {"bucket", [](auto& o) { o.bucket = "a/b"; }},
                         {"region", [](auto& o) { o.region = ""; }},
                         {"access key", [](auto& o) { o.access_key = ""; }},
                         {"secret key", [](auto& o) { o.secret_key = base::Secret(); }},
                         {"parts", [](auto& o) { o.part_bytes = kPartBytes - 1; }},
                         {"tries", [](auto& o) { o.tries = 0; }},
                         {"connections", [](auto& o) { o.connections = 0; }}}) {
    StoreOptions wrong = options;
    c.change(wrong);
    auto made = ObjectStore::create(wrong, clock, random);
    ASSERT_FALSE(made) << c.name;
    EXPECT_EQ(made.error().kind(), ErrorKind::kInvalid) << c.name;
  }
}

}  // namespace
}  // namespace lake::storage
