#include "base/postgres/outcome.h"

#include <gtest/gtest.h>

namespace base::pg {
namespace {

// A Case with no kind expects success.
struct Case {
  std::string_view name;
  Effect effect;
  Sent sent;
  Loss loss;
  std::optional<ServerError> error;
  std::string tag;
  bool all_answered;
  std::optional<ErrorKind> kind;
};

const ServerError kClash{.sqlstate = "23505"};
const ServerError kFarewell{.sqlstate = "57P01", .severity = Severity::kFatal};
const ServerError kOddFarewell{.sqlstate = "XX000", .severity = Severity::kFatal};
const ServerError kPanicking{.sqlstate = "XX000", .severity = Severity::kPanic};

const Case kCases[] = {
    {"commit answered", Effect::kCommits, Sent::kAll, Loss::kNone, {}, "COMMIT", true, {}},
    {"commit rolled back",
     Effect::kCommits,
     Sent::kAll,
     Loss::kNone,
     {},
     "ROLLBACK",
     true,
     ErrorKind::kConflict},
    {"broken before sending",
     Effect::kCommits,
     Sent::kNothing,
     Loss::kBroken,
     {},
     "",
     false,
     ErrorKind::kUnavailable},
    {"late before sending",
     Effect::kCommits,
     Sent::kNothing,
     Loss::kDeadline,
     {},
     "",
     false,
     ErrorKind::kTimeout},
    {"cancelled before sending",
     Effect::kCommits,
     Sent::kNothing,
     Loss::kCancelled,
     {},
     "",
     false,
     ErrorKind::kCancelled},
    {"broken before commit went",
     Effect::kCommits,
     Sent::kWithoutClosing,
     Loss::kBroken,
     {},
     "",
     false,
     ErrorKind::kUnavailable},
    {"late before commit went",
     Effect::kCommits,
     Sent::kWithoutClosing,
     Loss::kDeadline,
     {},
     "",
     false,
     ErrorKind::kTimeout},
    {"broken after commit went",
     Effect::kCommits,
     Sent::kAll,
     Loss::kBroken,
     {},
     "",
     false,
     ErrorKind::kOutcomeUnknown},
    {"late after commit went",
     Effect::kCommits,
     Sent::kAll,
     Loss::kDeadline,
     {},
     "",
     false,
     ErrorKind::kOutcomeUnknown},
    {"cancelled after commit went",
     Effect::kCommits,
     Sent::kAll,
     Loss::kCancelled,
     {},
     "",
     false,
     ErrorKind::kOutcomeUnknown},
    {"broken after the answer",
     Effect::kCommits,
     Sent::kAll,
     Loss::kBroken,
     {},
     "COMMIT",
     true,
     {}},
    {"clash", Effect::kCommits, Sent::kAll, Loss::kNone, kClash, "", false, ErrorKind::kConflict},
    {"clash, then broken", Effect::kCommits, Sent::kAll, Loss::kBroken, kClash, "", false,
     ErrorKind::kConflict},
    {"farewell before commit", Effect::kCommits, Sent::kAll, Loss::kBroken, kFarewell, "", false,
     ErrorKind::kUnavailable},
    {"farewell after commit",
     Effect::kCommits,
     Sent::kAll,
     Loss::kBroken,
     kFarewell,
     "COMMIT",
     true,
     {}},
    {"panic in commit", Effect::kCommits, Sent::kAll, Loss::kBroken, kPanicking, "", false,
     ErrorKind::kOutcomeUnknown},
    {"own: answered", Effect::kOwnTransaction, Sent::kAll, Loss::kNone, {}, "", true, {}},
    {"own: broken",
     Effect::kOwnTransaction,
     Sent::kWithoutClosing,
     Loss::kBroken,
     {},
     "",
     false,
     ErrorKind::kOutcomeUnknown},
    {"own: late",
     Effect::kOwnTransaction,
     Sent::kWithoutClosing,
     Loss::kDeadline,
     {},
     "",
     false,
     ErrorKind::kOutcomeUnknown},
    {"own: broken before",
     Effect::kOwnTransaction,
     Sent::kNothing,
     Loss::kBroken,
     {},
     "",
     false,
     ErrorKind::kUnavailable},
    {"own: broken before its end",
     Effect::kOwnTransaction,
     Sent::kAll,
     Loss::kBroken,
     {},
     "",
     true,
     ErrorKind::kOutcomeUnknown},
    {"own: farewell before the answer", Effect::kOwnTransaction, Sent::kAll, Loss::kBroken,
     kFarewell, "", false, ErrorKind::kUnavailable},
    {"own: farewell before its end", Effect::kOwnTransaction, Sent::kAll, Loss::kBroken, kFarewell,
     "", true, ErrorKind::kOutcomeUnknown},
    {"own: refused at its end", Effect::kOwnTransaction, Sent::kAll, Loss::kNone, kClash, "", true,
     ErrorKind::kConflict},
    {"own: panic", Effect::kOwnTransaction, Sent::kAll, Loss::kBroken, kPanicking, "", false,
     ErrorKind::kOutcomeUnknown},
    {"read: broken",
     Effect::kReads,
     Sent::kAll,
     Loss::kBroken,
     {},
     "",
     false,
     ErrorKind::kUnavailable},
    {"read: late", Effect::kReads, Sent::kAll, Loss::kDeadline, {}, "", false, ErrorKind::kTimeout},
    {"read: odd farewell", Effect::kReads, Sent::kAll, Loss::kBroken, kOddFarewell, "", false,
     ErrorKind::kUnavailable},
    {"inside: broken",
     Effect::kInsideTransaction,
     Sent::kAll,
     Loss::kBroken,
     {},
     "",
     false,
     ErrorKind::kUnavailable},
    {"inside: cancelled",
     Effect::kInsideTransaction,
     Sent::kAll,
     Loss::kCancelled,
     {},
     "",
     false,
     ErrorKind::kCancelled},
    {"inside: panic", Effect::kInsideTransaction, Sent::kAll, Loss::kBroken, kPanicking, "", false,
     ErrorKind::kUnavailable},
};

TEST(OutcomeTest, what_was_seen_decides_what_may_be_relied_on) {
  for (const auto& c : kCases) {
    Outcome outcome;
    outcome.sent = c.sent;
    outcome.loss = c.loss;
    outcome.error = c.error;
    outcome.closing_tag = c.tag;
    outcome.all_answered = c.all_answered;
    auto result = settle(std::move(outcome), c.effect);
    ASSERT_EQ(result.has_value(), !c.kind.has_value()) << c.name;
    if (!result) EXPECT_EQ(result.error().kind(), *c.kind) << c.name;
  }
}

TEST(OutcomeTest, only_plain_reads_count_as_reads) {
  for (const char* sql :
       {"SELECT 1", " \n select(1)", "Values (1)", "TABLE t", "show x", "SELECT*FROM t"}) {
    EXPECT_EQ(effect_alone({sql}), Effect::kReads) << sql;
  }
  for (const char* sql : {"", "SELECT", "selection", "INSERT INTO t SELECT 1",
                          "WITH x AS (SELECT 1)", "-- SELECT", "CALL f()"}) {
    EXPECT_EQ(effect_alone({sql}), Effect::kOwnTransaction) << sql;
  }
}

}  // namespace
}  // namespace base::pg
