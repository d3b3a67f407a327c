#pragma once

// A trail in a private folder, and calls to fill it with.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fstream>
#include <iterator>

#include "base/testing/child_process.h"
#include "toolserver/audit/audit_log.h"
#include "toolserver/audit/verify.h"

namespace tool::audit::testing {

/// Stands still until a test moves it.
class FixedClock final : public base::Clock {
 public:
  [[nodiscard]] base::WallTime now() const override {
    return base::WallTime(std::chrono::microseconds(micros.load()));
  }
  void pass(std::chrono::microseconds time) { micros += time.count(); }
  std::atomic<std::int64_t> micros = 1'795'251'600'123'456;
};

inline base::Secret test_secret() { return base::Secret("an audit secret of the tests, 32+ long"); }

inline CallRecord sample(std::string rid = "01JTEST") {
  CallRecord record;
  record.time = FixedClock().now();
  record.request_id = std::move(rid);
  record.session_id = "s-1";
  record.subject = "alice";
  record.issuer = "node-a";
  record.method = "jwt";
  record.tool = "sql.query";
  record.origin = "local";
  record.args_mac = "hmac-sha256:00";
  record.peer = "127.0.0.1";
  record.decision = Decision{"execute", std::nullopt};
  record.outcome = Outcome{"ok", 12, 0};
  record.timing = Timing{std::chrono::microseconds(40), std::chrono::microseconds(20), {}};
  return record;
}

template <class T>
T run(base::Task<T> task) {
  boost::asio::io_context loop;
  std::optional<T> result;
  boost::asio::co_spawn(loop, std::move(task), [&](std::exception_ptr error, T value) {
    ASSERT_FALSE(error);
    result.emplace(std::move(value));
  });
  loop.run();
  return std::move(*result);
}

inline std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void spill(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t at = 0;
  for (std::size_t end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    lines.push_back(text.substr(at, end - at));
  }
  return lines;
}

class AuditTest : public ::testing::Test {
 protected:
  [[nodiscard]] AuditOptions options() const {
    return {.folder = folder_.path() + "/trail", .node = "node-a"};
  }
  base::Result<std::unique_ptr<AuditLog>> try_open(AuditOptions options) {
    return AuditLog::open(std::move(options), CheckpointSigner::with_secret(test_secret()), clock_,
                          random_);
  }
  std::unique_ptr<AuditLog> open(AuditOptions options) {
    auto log = try_open(std::move(options));
    EXPECT_TRUE(log.has_value()) << log.error().message() << log.error().detail();
    return log ? std::move(*log) : nullptr;
  }
  std::unique_ptr<AuditLog> open() { return open(options()); }

  // A call that is refused before it is authorised.
  static CallRecord refused(std::string subject, Code code = Code::kRate) {
    CallRecord record = sample();
    record.subject = std::move(subject);
    record.decision = Decision{"rate", code};
    record.outcome.reset();
    return record;
  }
  static AuditReceipt seal(AuditLog& log, CallRecord record = sample()) {
    auto receipt = run(log.seal(std::move(record)));
    EXPECT_TRUE(receipt.has_value());
    return receipt ? *receipt : AuditReceipt{};
  }
  // Opens and seals, as a call that runs does.
  static AuditReceipt call(AuditLog& log, CallRecord record = sample()) {
    CallRecord opening = record;
    opening.decision.reset();
    opening.outcome.reset();
    opening.timing.reset();
    auto seq = log.open_call(opening);
    EXPECT_TRUE(seq.has_value());
    record.open_seq = seq.value_or(0);
    return seal(log, std::move(record));
  }

  [[nodiscard]] std::string folder() const { return options().folder; }
  [[nodiscard]] std::string only_file() const {
    auto segments = list_segments(folder());
    EXPECT_TRUE(segments && segments->size() == 1);
    return segments->at(0).path;
  }
  [[nodiscard]] VerifyReport report(VerifyOptions verify_options = {}) const {
    CheckpointKeys keys;
    keys.add(test_secret());
    auto result = verify(folder(), keys, verify_options);
    EXPECT_TRUE(result.has_value());
    return result ? *result : VerifyReport{};
  }

  base::testing::TemporaryFolder folder_;
  FixedClock clock_;
  base::SystemRandom random_;
};

}  // namespace tool::audit::testing
