#include "base/log/logger.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "base/json/json.h"

namespace base::log {
namespace {

class FixedClock final : public Clock {
 public:
  [[nodiscard]] WallTime now() const override { return WallTime(); }
};

class LoggerTest : public testing::Test {
 protected:
  LoggerTest() { EXPECT_EQ(pipe(pipe_.data()), 0); }
  ~LoggerTest() override {
    close_end();
    close(pipe_[0]);
  }

  void close_end() {
    if (pipe_[1] >= 0) close(pipe_[1]);
    pipe_[1] = -1;
  }

  // Everything written; the output must be gone.
  std::string all() {
    close_end();
    std::string out;
    std::array<char, 4096> part;
    for (ssize_t n = 0; (n = read(pipe_[0], part.data(), part.size())) > 0;) {
      out.append(part.data(), static_cast<std::size_t>(n));
    }
    return out;
  }

  OutputOptions options(Level level = Level::kInfo) {
    return {.format = Format::kText, .level = level, .descriptor = pipe_[1]};
  }

  FixedClock clock_;
  std::array<int, 2> pipe_{};
};

TEST_F(LoggerTest, writes_all_lines_before_it_goes) {
  {
    LogOutput output(options(), clock_);
    Logger log(output);
    log.info("first", {{"n", 1}});
    log.for_request(255).warning("second");
    log.for_request("abc").error("third");
    log.info("fourth");
  }
  EXPECT_EQ(all(),
            "1970-01-01T00:00:00.000000Z info    first n=1\n"
            "1970-01-01T00:00:00.000000Z warning second request_id=\"00000000000000ff\"\n"
            "1970-01-01T00:00:00.000000Z error   third request_id=\"abc\"\n"
            "1970-01-01T00:00:00.000000Z info    fourth\n");
}

TEST_F(LoggerTest, builds_no_line_below_its_level) {
  {
    LogOutput output(options(Level::kWarning), clock_);
    Logger log(output);
    EXPECT_FALSE(log.enabled(Level::kInfo));
    EXPECT_TRUE(log.enabled(Level::kWarning));
    log.debug("no");
    log.info("no");
    log.warning("yes");
    log.error("yes");
  }
  std::string text = all();
  EXPECT_EQ(text.find("no"), std::string::npos);
  EXPECT_EQ(std::ranges::count(text, '\n'), 2);
}

TEST_F(LoggerTest, keeps_lines_of_many_threads_whole) {
  std::string text;
  std::thread reader([&] {
    std::array<char, 4096> part;
    for (ssize_t n = 0; (n = read(pipe_[0], part.data(), part.size())) > 0;) {
      text.append(part.data(), static_cast<std::size_t>(n));
    }
  });
  {
    auto json = options();
    json.format = Format::kJson;
    LogOutput output(json, clock_);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        Logger log(output);
        for (int i = 0; i < 500; ++i) log.info("line", {{"padding", std::string(100, 'x')}});
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(output.dropped(), 0U);
  }
  close_end();
  reader.join();
  EXPECT_EQ(std::ranges::count(text, '\n'), 2000);
  for (std::size_t start = 0; start < text.size(); start = text.find('\n', start) + 1) {
    ASSERT_TRUE(json::parse(text.substr(start, text.find('\n', start) - start)).has_value());
  }
}

TEST_F(LoggerTest, drops_the_oldest_lines_when_nobody_reads) {
  std::string text;
  std::uint64_t dropped = 0;
  {
    auto small = options();
    small.queue = 16;
    LogOutput output(small, clock_);
    Logger log(output);
    // More than a pipe holds: without dropping this loop would never end.
    for (int i = 0; i < 2000; ++i) log.info("line", {{"padding", std::string(1000, 'x')}});
    log.info("last");
    dropped = output.dropped();
    EXPECT_GT(dropped, 0U);
    // Reading makes room, so that the destructor can finish.
    std::thread reader([&] {
      std::array<char, 4096> part;
      while (text.find("last") == std::string::npos) {
        ssize_t n = read(pipe_[0], part.data(), part.size());
        if (n <= 0) return;
        text.append(part.data(), static_cast<std::size_t>(n));
      }
    });
    reader.join();
  }
  EXPECT_EQ(static_cast<std::uint64_t>(std::ranges::count(text, '\n')) + dropped, 2001U);
}

}  // namespace
}  // namespace base::log
