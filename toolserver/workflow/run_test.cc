#include "toolserver/workflow/run.h"

#include <gtest/gtest.h>

namespace tool::workflow {
namespace {

TEST(RecordOfRunTest, a_line_is_read_as_it_was_written) {
  const base::WallTime at{std::chrono::microseconds(1'795'251'600'000'001)};
  const Record kRecords[] = {
      Begin{.step = 1, .side = Side::kUndo, .request_id = "r", .at = at, .known_until = at},
      End{.step = 0,
          .side = Side::kDo,
          .status = "ok",
          .message = "m",
          .result = {{"a", 1}},
          .at = at},
      End{.step = 0, .side = Side::kDo, .status = "not_begun", .message = {}, .result = {}},
      Turn{"failed", "E_LIMIT", "m"},
      Turn{"cancelled", {}, {}},
      Finish{"done", base::json::Value(7), {}},
      Finish{"cancelled", std::nullopt, "m"},
  };
  for (const Record& record : kRecords) {
    const std::string line = write_record(record);
    auto read = read_record(line, 2);
    ASSERT_TRUE(read) << line;
    EXPECT_EQ(write_record(*read), line);
  }
}

TEST(RecordOfRunTest, a_line_that_is_never_written_is_corrupt) {
  const char* const kLines[] = {
      R"({"line":"turn","why":"tired","code":"","message":""})",
      // A run whose last line says nothing would go on after it.
      R"({"line":"finish","state":"","message":""})",
      R"({"line":"begin","step":0,"side":"both","rid":"r","at":1,"until":1})",
      R"({"line":"begin","step":2,"side":"do","rid":"r","at":1,"until":1})",
      R"({"line":"begin","step":-1,"side":"do","rid":"r","at":1,"until":1})",
      // The pause before the next attempt is added to it.
      R"({"line":"end","step":0,"side":"do","status":"tool_error","message":"","result":{},"at":9223372036854775807})",
      R"({"line":"end","step":0,"side":"do","status":"ok","message":"","result":{},"at":-1})",
      R"({"line":"end","step":0,"side":"do","status":"ok","message":"","result":[],"at":1})",
      R"({"line":"pause"})",
      R"([])",
  };
  for (const char* line : kLines) EXPECT_FALSE(read_record(line, 2)) << line;
}

}  // namespace
}  // namespace tool::workflow
