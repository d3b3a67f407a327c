#include "base/postgres/sqlstate.h"

#include <gtest/gtest.h>

#include "base/postgres/session.h"

namespace base::pg {
namespace {

TEST(SqlstateTest, each_class_has_its_kind_and_reason) {
  struct Case {
    std::string_view sqlstate;
    ErrorKind kind;
    std::string_view reason;
  };
  const Case cases[] = {
      {"23505", ErrorKind::kConflict, kUniqueViolation},
      {"23503", ErrorKind::kInternal, ""},
      {"40001", ErrorKind::kConflict, kSerializationFailure},
      {"40P01", ErrorKind::kConflict, kSerializationFailure},
      {"40002", ErrorKind::kInternal, ""},
      {"08006", ErrorKind::kUnavailable, ""},
      {"53100", ErrorKind::kUnavailable, ""},
      {"53300", ErrorKind::kUnavailable, ""},
      {"57P01", ErrorKind::kUnavailable, ""},
      {"57P03", ErrorKind::kUnavailable, ""},
      {"57014", ErrorKind::kTimeout, ""},
      {"25P03", ErrorKind::kUnavailable, ""},
      {"25006", ErrorKind::kUnavailable, ""},
      {"25001", ErrorKind::kInternal, ""},
      {"55000", ErrorKind::kUnavailable, ""},
      {"55P03", ErrorKind::kUnavailable, ""},
      {"55006", ErrorKind::kInternal, ""},
      {"22P02", ErrorKind::kInvalid, ""},
      {"22021", ErrorKind::kInvalid, ""},
      {"42P01", ErrorKind::kInternal, kUndefinedTable},
      {"42P07", ErrorKind::kInternal, kDuplicateObject},
      {"42710", ErrorKind::kInternal, kDuplicateObject},
      {"42P06", ErrorKind::kInternal, kDuplicateObject},
      {"42601", ErrorKind::kInternal, ""},
      {"XX000", ErrorKind::kInternal, ""},
      {"", ErrorKind::kInternal, ""},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(meaning_of(c.sqlstate).kind, c.kind) << c.sqlstate;
    EXPECT_EQ(meaning_of(c.sqlstate).reason, c.reason) << c.sqlstate;
  }
}

TEST(SqlstateTest, stale_statements_are_told_apart_from_missing_features) {
  EXPECT_TRUE(is_stale_statement({.sqlstate = "26000"}));
  EXPECT_TRUE(is_stale_statement({.sqlstate = "0A000", .function = "RevalidateCachedQuery"}));
  EXPECT_FALSE(is_stale_statement({.sqlstate = "0A000", .function = "other"}));
  EXPECT_FALSE(is_stale_statement({.sqlstate = "42P01", .function = "RevalidateCachedQuery"}));
}

TEST(SqlstateTest, the_servers_words_stay_in_the_detail) {
  Error error = to_error({.sqlstate = "23505", .message = "secret", .constraint = "items_pkey"});
  EXPECT_EQ(error.message().find("secret"), std::string::npos);
  EXPECT_EQ(error.detail(), "SQLSTATE 23505: secret (constraint items_pkey)");
  EXPECT_EQ(to_error({.sqlstate = "26000"}).reason(), kStatementStale);
}

}  // namespace
}  // namespace base::pg
