#include "base/postgres/rows.h"

#include <gtest/gtest.h>

namespace base::pg {
namespace {

// One row with one column "c".
RowsPtr one(std::optional<std::string> value) {
  ResultPtr result(PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK));
  std::string name = "c";
  PGresAttDesc column{};
  column.name = name.data();
  PQsetResultAttrs(result.get(), 1, &column);
  int size = value ? static_cast<int>(value->size()) : -1;
  PQsetvalue(result.get(), 0, 0, value ? value->data() : nullptr, size);
  return make_rows(std::move(result));
}

TEST(RowsTest, values_are_parsed_strictly) {
  EXPECT_EQ(one("-9223372036854775808")->int64(0, 0), std::numeric_limits<std::int64_t>::min());
  EXPECT_TRUE(one("t")->boolean(0, 0));
  EXPECT_FALSE(one("f")->boolean(0, 0));
  EXPECT_EQ(one("\\x00ff")->bytes(0, 0), std::string("\0\xff", 2));
  EXPECT_EQ(one("\\x")->bytes(0, 0), "");
  EXPECT_EQ(one("text")->opt_text(0, 0), "text");
  EXPECT_EQ(one("")->opt_text(0, 0), "");
  EXPECT_EQ(one("7")->opt_int64(0, 0), 7);
  EXPECT_EQ(one("f")->opt_boolean(0, 0), false);
}

TEST(RowsTest, null_is_told_apart_from_empty) {
  EXPECT_TRUE(one(std::nullopt)->is_null(0, 0));
  EXPECT_FALSE(one("")->is_null(0, 0));
  EXPECT_EQ(one(std::nullopt)->text(0, 0), "");
  EXPECT_EQ(one(std::nullopt)->opt_text(0, 0), std::nullopt);
  EXPECT_EQ(one(std::nullopt)->opt_int64(0, 0), std::nullopt);
  EXPECT_EQ(one(std::nullopt)->opt_boolean(0, 0), std::nullopt);
}

TEST(RowsTest, shape_is_known) {
  auto rows = one("1");
  EXPECT_EQ(rows->size(), 1u);
  EXPECT_EQ(rows->columns(), 1u);
  EXPECT_EQ(rows->column_name(0), "c");
  EXPECT_FALSE(rows->empty());
  EXPECT_EQ(rows->affected(), 0);
}

using RowsDeathTest = ::testing::Test;

TEST(RowsDeathTest, mismatch_aborts_and_names_the_column) {
  EXPECT_DEATH((void)one(std::nullopt)->int64(0, 0), "column c is not an integer");
  EXPECT_DEATH((void)one("")->int64(0, 0), "column c");
  EXPECT_DEATH((void)one("1.0")->int64(0, 0), "column c");
  EXPECT_DEATH((void)one("9223372036854775808")->int64(0, 0), "column c");
  EXPECT_DEATH((void)one("true")->boolean(0, 0), "column c is not a boolean");
  EXPECT_DEATH((void)one(std::nullopt)->boolean(0, 0), "column c");
  EXPECT_DEATH((void)one("00ff")->bytes(0, 0), "column c is not a bytea");
  EXPECT_DEATH((void)one("\\x0")->bytes(0, 0), "column c");
  EXPECT_DEATH((void)one("1")->text(1, 0), "row 1 of 1");
  EXPECT_DEATH((void)one("1")->text(0, 1), "column 1 of 1");
}

}  // namespace
}  // namespace base::pg
