#include "toolserver/model/fault.h"

#include <gtest/gtest.h>

#include <set>

#include "base/core/result.h"

namespace tool {
namespace {

constexpr int kCodes = static_cast<int>(Code::kInternal) + 1;

TEST(FaultTest, every_code_has_its_own_name_and_number) {
  std::set<std::string_view> names;
  std::set<int> numbers;
  for (int i = 0; i < kCodes; ++i) {
    Code code = static_cast<Code>(i);
    EXPECT_TRUE(names.insert(name(code)).second) << name(code);
    EXPECT_TRUE(numbers.insert(number(code)).second) << number(code);
    EXPECT_TRUE(name(code).starts_with("E_"));
    EXPECT_EQ(code_of(name(code)), code);
    EXPECT_TRUE(http_status(code) >= 400 && http_status(code) < 600);
    EXPECT_TRUE(close_code(code) >= 4400 && close_code(code) < 4600);
  }
}

TEST(FaultTest, code_of_knows_no_other_name) {
  for (std::string_view text : {"", "E_", "E_NOPE", "e_scope", "E_SCOPE "}) {
    EXPECT_FALSE(code_of(text).has_value()) << text;
  }
}

TEST(FaultTest, codes_have_the_numbers_of_the_wire) {
  struct Case {
    Code code;
    std::string_view name;
    int number;
    unsigned http;
  };
  for (const Case& c : std::initializer_list<Case>{
           {Code::kParse, "E_PARSE", 4000, 400},
           {Code::kOp, "E_OP", 4004, 404},
           {Code::kScope, "E_SCOPE", 4031, 403},
           {Code::kReplay, "E_REPLAY", 4091, 401},
           {Code::kTool, "E_TOOL", 4041, 404},
           {Code::kRate, "E_RATE", 4290, 429},
           {Code::kBusy, "E_BUSY", 5030, 503},
           {Code::kTimeout, "E_TIMEOUT", 4080, 504},
           {Code::kInternal, "E_INTERNAL", 5000, 500},
       }) {
    EXPECT_EQ(name(c.code), c.name);
    EXPECT_EQ(number(c.code), c.number) << c.name;
    EXPECT_EQ(http_status(c.code), c.http) << c.name;
  }
}

TEST(FaultTest, an_error_becomes_the_code_of_its_kind) {
  struct Case {
    base::ErrorKind kind;
    Code code;
  };
  for (const Case& c : std::initializer_list<Case>{
           {base::ErrorKind::kInvalid, Code::kShape},
           {base::ErrorKind::kNotFound, Code::kShape},
           {base::ErrorKind::kAlreadyExists, Code::kShape},
           {base::ErrorKind::kConflict, Code::kShape},
           {base::ErrorKind::kUnsupported, Code::kShape},
           {base::ErrorKind::kUnauthenticated, Code::kAuth},
           {base::ErrorKind::kForbidden, Code::kPolicy},
           {base::ErrorKind::kTooLarge, Code::kLimit},
           {base::ErrorKind::kRateLimited, Code::kRate},
           {base::ErrorKind::kUnavailable, Code::kUpstream},
           {base::ErrorKind::kOutcomeUnknown, Code::kUpstream},
           {base::ErrorKind::kTimeout, Code::kTimeout},
           {base::ErrorKind::kCancelled, Code::kCancelled},
           {base::ErrorKind::kCorrupt, Code::kInternal},
           {base::ErrorKind::kInternal, Code::kInternal},
       }) {
    Fault fault = to_fault(base::fail(c.kind, "for the caller").with_detail("for the log"));
    EXPECT_EQ(fault.code, c.code) << base::to_string(c.kind);
    EXPECT_EQ(fault.message, "for the caller");
    EXPECT_EQ(fault.detail, "for the log");
  }
}

}  // namespace
}  // namespace tool
