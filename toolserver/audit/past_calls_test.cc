#include "toolserver/audit/past_calls.h"

#include "toolserver/audit/fixture_test.h"

namespace tool::audit {
namespace {

using testing::AuditTest;
using testing::sample;

class PastCallsTest : public AuditTest {
 protected:
  // Opens a call at the clock's time; with a status, it has ended, too.
  void make(AuditLog& log, const std::string& rid, std::string_view status = {}) {
    CallRecord record = sample(rid);
    record.time = clock_.now();
    CallRecord opened = record;
    opened.decision.reset();
    opened.outcome.reset();
    opened.timing.reset();
    record.open_seq = *log.open_call(opened);
    if (status.empty()) return;
    if (status == "refused") {
      record.outcome.reset();
    } else {
      record.outcome->status = status;
    }
    EXPECT_TRUE(testing::run(log.seal(record)));
  }
  [[nodiscard]] PastCalls past(base::WallTime not_before = {}, std::size_t most = 100) const {
    auto found = past_calls(folder(), not_before, most);
    EXPECT_TRUE(found.has_value());
    return found ? std::move(*found) : PastCalls{};
  }
};

TEST_F(PastCallsTest, tells_how_calls_ended_and_which_have_no_end) {
  {
    auto log = open();
    make(*log, "01JDONE", "ok");
    make(*log, "01JFAILED", "E_UPSTREAM");
    make(*log, "01JREFUSED", "refused");
    make(*log, "01JLOST");
  }
  auto found = past();
  ASSERT_EQ(found.calls.size(), 3U);
  EXPECT_EQ(found.calls[0].request_id, "01JDONE");
  EXPECT_EQ(found.calls[0].status, "ok");
  EXPECT_EQ(found.calls[0].subject, "alice");
  EXPECT_EQ(found.calls[0].issuer, "node-a");
  EXPECT_EQ(found.calls[0].tool, "sql.query");
  EXPECT_EQ(found.calls[0].hash.size(), 64U);
  EXPECT_EQ(found.calls[1].status, "E_UPSTREAM");
  EXPECT_EQ(found.calls[2].request_id, "01JLOST");
  EXPECT_EQ(found.calls[2].status, "");
  EXPECT_EQ(found.calls[2].seq, 0U);
  EXPECT_EQ(found.since, base::WallTime{});
}

TEST_F(PastCallsTest, says_from_when_on_it_knows_all) {
  auto log = open();
  make(*log, "01JOLD", "ok");
  clock_.pass(std::chrono::seconds(1));
  auto second = clock_.now();
  make(*log, "01JNEXT", "ok");
  clock_.pass(std::chrono::seconds(1));
  make(*log, "01JLAST", "ok");

  auto few = past({}, 1);
  ASSERT_EQ(few.calls.size(), 1U);
  EXPECT_EQ(few.calls[0].request_id, "01JLAST");
  EXPECT_EQ(few.since, second);

  auto late = past(second);
  ASSERT_EQ(late.calls.size(), 1U);
  EXPECT_EQ(late.since, second);
}

TEST_F(PastCallsTest, what_stands_before_the_files_that_it_reads_is_not_known) {
  auto options = this->options();
  options.segment_bytes = 1;  // Each line begins a file.
  auto log = open(options);
  make(*log, "01JOLD", "ok");
  clock_.pass(std::chrono::seconds(1));
  make(*log, "01JLAST", "ok");
  auto found = past();
  EXPECT_EQ(found.since, clock_.now());
  EXPECT_TRUE(found.calls.empty());
}

TEST_F(PastCallsTest, words_of_a_caller_are_no_line) {
  auto log = open();
  CallRecord record = sample("01JWORDS");
  record.tool = R"({"kind":"seal","open":2})";
  record.decision.reset();
  record.outcome.reset();
  record.timing.reset();
  ASSERT_TRUE(log->open_call(record));
  auto found = past();
  ASSERT_EQ(found.calls.size(), 1U);
  EXPECT_EQ(found.calls[0].tool, record.tool);
  EXPECT_EQ(found.calls[0].status, "");
}

TEST_F(PastCallsTest, a_line_that_is_no_record_is_a_fault) {
  std::string path;
  {
    auto log = open();
    make(*log, "01JDONE", "ok");
    path = segment_path(folder(), 1);
  }
  testing::spill(path, testing::slurp(path) + "{\"kind\":\"open\"}\n");
  auto found = past_calls(folder(), {}, 100);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind(), base::ErrorKind::kCorrupt);
}

}  // namespace
}  // namespace tool::audit
