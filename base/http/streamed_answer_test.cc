// Answers that a task writes while it goes on, and bodies that only some
// requests may have.

#include <gtest/gtest.h>

#include "base/http/server_fixture_test.h"

namespace base::http {
namespace {

using namespace testing;  // NOLINT: the fixture of this folder.

struct Streamed {
  std::atomic<bool> client_went = false;
};

Task<void> write_words(ByteStream& stream) {
  for (std::string_view word : {"one", "", "two"}) {
    if (!co_await stream.write(word, word.empty() ? "" : "!")) co_return;
  }
}

// As one who has nothing more to say and waits for the client to go.
Task<void> wait_for_end(ByteStream& stream, Streamed* streamed) {
  std::array<char, 64> bytes;
  if (!co_await stream.write("begun", "")) co_return;
  while (co_await stream.read(bytes) > 0) {
  }
  streamed->client_went = true;
}

Task<Response> answer(Streamed* streamed, Request request) {
  Response response;
  if (request.path() == "/words") {
    response.headers.add("Content-Type", "text/event-stream");
    response.stream = [](ByteStream& stream, std::string_view) { return write_words(stream); };
  } else if (request.path() == "/wait") {
    response.stream = [streamed](ByteStream& stream, std::string_view) {
      return wait_for_end(stream, streamed);
    };
  } else {
    response.body = Body(std::to_string(request.body.size()));
  }
  co_return response;
}

class StreamedAnswerTest : public ::testing::Test {
 protected:
  StreamedAnswerTest() : workers_(1) {
    std::vector<Handler> handlers(1, [this](RequestContext, Request request) {
      return answer(&streamed_, std::move(request));
    });
    ServerOptions options;
    options.limits.body_bytes = 100;
    options.limits.body_bytes_of = [](const Request& head) {
      return head.path() == "/many" ? std::size_t{1'000} : head.path() == "/ten" ? 10 : 0;
    };
    auto started = Server::start(std::move(options), workers_, std::move(handlers), refusal);
    EXPECT_TRUE(started.has_value());
    server_ = std::move(*started);
  }

  Streamed streamed_;
  Workers workers_;
  std::unique_ptr<Server> server_;
};

TEST_F(StreamedAnswerTest, is_sent_in_chunks_and_ends_the_connection) {
  RawClient client(server_->port());
  Answer head = client.ask(get("/words"));
  EXPECT_EQ(head.status, 200u);
  EXPECT_EQ(head.field("Transfer-Encoding"), "chunked");
  EXPECT_EQ(head.field("Connection"), "close");
  EXPECT_EQ(head.field("Content-Type"), "text/event-stream");
  EXPECT_EQ(client.end(), End::kClosed);
  EXPECT_EQ(client.held(), "4\r\none!\r\n4\r\ntwo!\r\n0\r\n\r\n");
}

TEST_F(StreamedAnswerTest, is_refused_to_a_client_that_knows_no_chunks) {
  RawClient client(server_->port());
  EXPECT_EQ(client.ask("GET /words HTTP/1.0\r\n\r\n").status, 400u);
}

TEST_F(StreamedAnswerTest, learns_that_its_client_went) {
  RawClient client(server_->port());
  EXPECT_EQ(client.ask(get("/wait")).status, 200u);
  client.close();
  while (!streamed_.client_went) std::this_thread::sleep_for(milliseconds(1));
}

TEST_F(StreamedAnswerTest, ends_with_the_server) {
  RawClient client(server_->port());
  EXPECT_EQ(client.ask(get("/wait")).status, 200u);
  server_->shutdown(milliseconds(0));
  EXPECT_TRUE(streamed_.client_went);
}

TEST_F(StreamedAnswerTest, a_body_is_as_large_as_its_own_request_may_have) {
  auto post = [](std::string_view path, std::size_t size) {
    return fmt::format("POST {} HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{}", path, size,
                       std::string(size, 'x'));
  };
  struct Case {
    const char* path;
    std::size_t size;
    unsigned status;
  };
  for (const Case& c : std::initializer_list<Case>{{"/ten", 10, 200},
                                                   {"/ten", 11, 413},
                                                   {"/none", 0, 200},
                                                   {"/none", 1, 413},
                                                   {"/many", 100, 200},
                                                   {"/many", 101, 413}}) {
    RawClient client(server_->port());
    EXPECT_EQ(client.ask(post(c.path, c.size)).status, c.status) << c.path << " " << c.size;
  }
  RawClient client(server_->port());
  std::string chunked = "POST /ten HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(client.ask(chunked + "a\r\n0123456789\r\n0\r\n\r\n").body, "10");
  EXPECT_EQ(client.ask(chunked + "b\r\n0123456789x\r\n0\r\n\r\n").status, 413u);
}

}  // namespace
}  // namespace base::http
