#include "toolserver/outcomes/outcome.h"

#include <gtest/gtest.h>

namespace tool::outcomes {
namespace {

// With `was` in the place of `is`.
std::string with(std::string text, std::string_view is, std::string_view was) {
  const auto at = text.find(is);
  EXPECT_NE(at, std::string::npos) << is;
  return text.replace(at, is.size(), was);
}

Kept some_call() {
  Kept kept{.name = {"p", "own.tool", "01JD0000000000000000000002", {}, "sha256:0"},
            .began = base::WallTime(std::chrono::microseconds(5)),
            .ended_at = base::WallTime(std::chrono::microseconds(6)),
            .ended = Ended{.status = "ok", .receipt = {.seq = 7}}};
  kept.ended->answer = Answer{.time = std::chrono::milliseconds(8), .bytes = 9, .redactions = 10};
  return kept;
}

TEST(KeptOutcomeTest, is_read_as_it_was_written) {
  Kept refused = some_call();
  refused.ended->answer.reset();
  refused.ended->fault = refuse(Code::kRate, "later");
  refused.ended->fault->retry_after = std::chrono::milliseconds(11);
  Kept open = some_call();
  open.ended.reset();
  for (const Kept& kept : {some_call(), refused, open}) {
    const std::string text = write_kept(kept);
    auto read = read_kept(text);
    ASSERT_TRUE(read) << text << read.error().message();
    EXPECT_EQ(write_kept(*read), text);
  }
}

TEST(KeptOutcomeTest, holds_no_number_that_is_never_written) {
  const std::string text = write_kept(some_call());
  for (std::string_view member : {R"("began_us":5)", R"("ended_us":6)", R"("seq":7)", R"("ms":8)",
                                  R"("bytes":9)", R"("redactions":10)"}) {
    const std::string name(member.substr(0, member.find(':') + 1));
    EXPECT_FALSE(read_kept(with(text, member, name + "-1"))) << member;
    // A retention is added to times.
    EXPECT_FALSE(read_kept(with(text, member, name + "9223372036854775807"))) << member;
    EXPECT_TRUE(read_kept(with(text, member, name + "0"))) << member;
  }
}

}  // namespace
}  // namespace tool::outcomes
