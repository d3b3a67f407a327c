#include "toolserver/connectors/sql/sql_exchange.h"

#include <gtest/gtest.h>

namespace tool::connectors {
namespace {

using base::json::Object;

constexpr std::size_t kMost = 1 << 20;

TEST(SqlExchangeTest, answers_come_back_as_they_were) {
  ToolResult rows;
  rows.content.push_back({"application/json", R"({"rows":[[1,"a",null,1.5]]})"});
  rows.structured = *base::json::parse(rows.content.front().data);
  ToolResult arrow;
  arrow.content.push_back({"application/vnd.apache.arrow.stream", std::string("\0\xff\x80", 3)});
  arrow.structured = Object{{"row_count", 0}};
  ToolResult mistake;
  mistake.content.push_back({"text/plain", "no such column"});
  mistake.is_error = true;
  for (const ToolResult& result : {rows, arrow, mistake, ToolResult{}}) {
    auto read = read_answer(encode(Outcome<ToolResult>(result), kMost));
    ASSERT_TRUE(read) << read.error().message();
    ASSERT_TRUE(*read);
    EXPECT_EQ((*read)->is_error, result.is_error);
    EXPECT_EQ((*read)->structured, result.structured);
    ASSERT_EQ((*read)->content.size(), result.content.size());
    for (std::size_t i = 0; i < result.content.size(); ++i) {
      EXPECT_EQ((*read)->content[i].media_type, result.content[i].media_type);
      EXPECT_EQ((*read)->content[i].data, result.content[i].data);
    }
  }
}

TEST(SqlExchangeTest, refusals_come_back_as_they_were) {
  for (const Fault& fault : {Fault{Code::kBusy, "wait", std::chrono::milliseconds(1000), "why"},
                             refuse(Code::kPolicy, "no")}) {
    auto read = read_answer(encode(Outcome<ToolResult>(fault), kMost));
    ASSERT_TRUE(read);
    ASSERT_FALSE(*read);
    EXPECT_EQ(read->error().code, fault.code);
    EXPECT_EQ(read->error().message, fault.message);
    EXPECT_EQ(read->error().detail, fault.detail);
    EXPECT_EQ(read->error().retry_after, fault.retry_after);
  }
}

TEST(SqlExchangeTest, what_is_too_long_is_refused_by_the_engine_itself) {
  ToolResult result;
  result.content.push_back({"text/plain", std::string(1000, 'x')});
  EXPECT_TRUE(*read_answer(encode(Outcome<ToolResult>(result), 2000)));
  auto over = read_answer(encode(Outcome<ToolResult>(result), 1000));
  ASSERT_TRUE(over);
  EXPECT_EQ(over->error().code, Code::kLimit);
}

// An engine that was taken over may say anything.
TEST(SqlExchangeTest, what_is_no_answer_is_refused) {
  ToolResult result;
  result.content.push_back({"application/json", "{}"});
  result.structured = Object{};
  std::string good = encode(Outcome<ToolResult>(result), kMost);
  ASSERT_TRUE(read_answer(good));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(read_answer(good.substr(0, size))) << size;
  }
  EXPECT_FALSE(read_answer(good + "x"));
  auto changed = [&](std::size_t at, char to) {
    std::string bytes = good;
    bytes[at] = to;
    return bytes;
  };
  EXPECT_FALSE(read_answer(changed(0, 2)));                  // No kind.
  EXPECT_FALSE(read_answer(changed(8, 2)));                  // Neither an error nor none.
  EXPECT_FALSE(read_answer(changed(16, 17)));                // Too many parts.
  EXPECT_FALSE(read_answer(changed(31, '\xff')));            // A length beyond the end.
  EXPECT_FALSE(read_answer(changed(good.size() - 9, 'x')));  // No JSON.
  // A code that no connector refuses with.
  std::string refusal = encode(Outcome<ToolResult>(refuse(Code::kLimit, "x")), kMost);
  EXPECT_TRUE(read_answer(refusal));
  refusal.replace(refusal.find("E_LIMIT"), 7, "E_SCOPE");
  EXPECT_FALSE(read_answer(refusal));
}

TEST(SqlExchangeTest, orders_and_openings_come_back_as_they_were) {
  auto order = read_order(encode(
      SqlOrder{"sql.query", {{"sql", "SELECT 1"}}, true, {}, std::chrono::milliseconds(17)}));
  ASSERT_TRUE(order) << order.error().message();
  EXPECT_EQ(order->tool, "sql.query");
  EXPECT_EQ(order->args.at("sql").as_string(), "SELECT 1");
  EXPECT_TRUE(order->dry_run);
  EXPECT_EQ(order->time.count(), 17);
  EXPECT_FALSE(read_order("{}"));
  EXPECT_FALSE(read_order("no JSON"));
  SqlOpening sent{{.data_dir = "/data", .allow_raw_file_sql = true, .rows = 7}, {{"t", "t.csv"}}};
  auto opening = read_opening(encode(sent));
  ASSERT_TRUE(opening) << opening.error().message();
  EXPECT_EQ(opening->options.data_dir, "/data");
  EXPECT_TRUE(opening->options.allow_raw_file_sql);
  EXPECT_EQ(opening->options.rows, 7U);
  ASSERT_EQ(opening->tables.size(), 1U);
  EXPECT_EQ(opening->tables.front().file, "t.csv");
  EXPECT_FALSE(read_opening("{}"));
}

TEST(SqlExchangeTest, notes_are_two_numbers) {
  auto note = read_note(encode(SqlNote{0.25, 12}));
  ASSERT_TRUE(note);
  EXPECT_EQ(note->part, 0.25);
  EXPECT_EQ(note->rows, 12U);
  EXPECT_TRUE(read_note("-1 0"));
  for (const char* bad : {"", "1", "1 ", " 1", "nan 1", "inf 1", "2 1", "0.5 -1", "0.5 1 x"}) {
    EXPECT_FALSE(read_note(bad)) << bad;
  }
}

}  // namespace
}  // namespace tool::connectors
