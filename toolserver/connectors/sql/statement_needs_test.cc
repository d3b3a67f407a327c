// What a statement needs of its tables, from the engine's own tree of it.

#include "toolserver/connectors/sql/statement_needs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "base/duckdb/engine.h"

namespace tool::connectors {
namespace {

class StatementNeed : public ::testing::Test {
 protected:
  void SetUp() override {
    auto engine = base::duckdb::Engine::open({.scratch_bytes = 0});
    ASSERT_TRUE(engine);
    engine_ = std::move(*engine);
  }
  StatementNeeds needs(const std::string& sql, const base::json::Array& params = {}) {
    auto connection = engine_->connect();
    const base::duckdb::Param text[] = {base::duckdb::Text{sql}};
    auto rows = connection->execute("SELECT json_serialize_sql($1::VARCHAR)", text);
    EXPECT_TRUE(rows && *rows->next()) << sql;
    const auto tree = base::json::parse(rows->bytes(0)).value();
    EXPECT_TRUE(screen(tree, {.tables = {}, .naming = Naming::kNamed}).allowed()) << sql;
    StatementNeeds made = needs_of(tree, params);
    base::json::Object sent;
    add_to(sent, made);
    const base::json::Value value(sent);
    auto read = read_needs(*base::json::Fields::of(value, ""));
    EXPECT_TRUE(read && read->columns == made.columns) << sql;
    return read ? *read : made;
  }
  std::string columns(const std::string& sql) {
    const auto found = needs(sql).columns;
    return found ? fmt::format("{}", fmt::join(*found, " ")) : "all";
  }
  std::string conditions(const std::string& sql, const base::json::Array& params = {}) {
    base::json::Object sent;
    add_to(sent, needs(sql, params));
    std::string text;
    for (const auto& one : sent.at("conditions").as_array()) {
      text += fmt::format(
          "{}{}.{} {} {}", text.empty() ? "" : ", ", std::string_view(one.at("table").as_string()),
          std::string_view(one.at("column").as_string()),
          std::string_view(one.at("op").as_string()), base::json::write(one.at("values")));
    }
    return text;
  }

  std::unique_ptr<base::duckdb::Engine> engine_;
};

TEST_F(StatementNeed, is_the_columns_that_it_names) {
  EXPECT_EQ(columns("SELECT ID, o.price AS p FROM s.t AS o WHERE kind = 'x' ORDER BY Since"),
            "id kind o price since");
  EXPECT_EQ(columns("SELECT count(*) FROM s.t"), "");
  EXPECT_EQ(columns("SELECT a.x FROM s.t a JOIN s.u b USING (k) GROUP BY ALL"), "a k x");
  EXPECT_EQ(columns("WITH q AS (SELECT x FROM s.t) SELECT max(x) FROM q"), "x");
  EXPECT_EQ(columns("SELECT x, row_number() OVER (PARTITION BY y ORDER BY z) FROM s.t"), "x y z");
  EXPECT_EQ(columns("SELECT sum(x) FILTER (y > 1) FROM s.t QUALIFY true"), "x y");
  EXPECT_EQ(columns("SELECT list_transform(xs, lambda e: e + y) FROM s.t"), "e xs y");
  EXPECT_EQ(columns("SELECT x FROM s.t WHERE EXISTS (SELECT 1 FROM s.u WHERE u.k = t.k)"),
            "k t u x");
  EXPECT_EQ(columns("SELECT place.street FROM s.t"), "place street");
  EXPECT_EQ(columns("SELECT x FROM s.t UNION BY NAME SELECT y FROM s.u"), "x y");
}

// Each would answer with fewer columns, or others, if some were left out.
TEST_F(StatementNeed, is_all_columns_where_a_part_of_it_stands_for_columns) {
  for (const char* sql : {
           "FROM s.t",
           "SELECT * FROM s.t",
           "SELECT t.* FROM s.t",
           "SELECT * EXCLUDE (x) FROM s.t",
           "SELECT COLUMNS('a.*') FROM s.t",
           "SELECT count(COLUMNS(*)) FROM s.t",
           "SELECT #1 FROM s.t",
           "SELECT t FROM s.t",
           "SELECT s.t FROM s.t",
           "SELECT o FROM s.t AS o",
           "SELECT to_json(o) FROM s.t o",
           "SELECT count(DISTINCT O) FROM s.t o",
           "SELECT q FROM (SELECT x FROM s.t) AS q",
           "SELECT x FROM s.t NATURAL JOIN s.u",
           "SELECT a FROM s.t AS o(a, b)",
           "SELECT a FROM (SELECT * FROM s.t) AS o(a, b)",
           "SELECT x FROM s.t WHERE x IN (SELECT unnest(u) FROM s.u)",
           "WITH q AS (FROM s.t) SELECT x FROM q",
           "SELECT x FROM (PIVOT s.t ON y IN (1, 2) USING sum(z))",
           "SELECT x FROM (UNPIVOT s.t ON y, z)",
           "SUMMARIZE SELECT x FROM s.t",
           "SELECT x FROM s.t ORDER BY ALL",
       }) {
    EXPECT_EQ(columns(sql), "all") << sql;
  }
}

TEST_F(StatementNeed, is_rows_of_plain_comparisons) {
  EXPECT_EQ(conditions("SELECT 1 FROM s.t WHERE id >= 5 AND 'x' = Kind AND 7 > t.n"),
            R"(t.id gt-eq [5], t.Kind eq ["x"], t.n lt [7])");
  EXPECT_EQ(conditions("SELECT 1 FROM s.t o WHERE o.id IN (1, 2) AND s IS NOT NULL AND d IS NULL"),
            "t.id in [1,2], t.s not-null [], t.d is-null []");
  EXPECT_EQ(conditions("SELECT 1 FROM s.t WHERE id BETWEEN $1 AND $2", {3, "x"}),
            R"(t.id gt-eq [3], t.id lt-eq ["x"])");
  EXPECT_EQ(conditions("SELECT 1 FROM s.t WHERE d > DATE '2026-01-01' AND e < TIMESTAMP '2026'"),
            R"(t.d gt [{"moment":"2026-01-01"}], t.e lt [{"moment":"2026"}])");
  EXPECT_EQ(conditions("SELECT 1 FROM s.t a JOIN s.u b ON a.k = b.k WHERE a.x = 1 AND b.y = 2"),
            "t.x eq [1], u.y eq [2]");
  EXPECT_EQ(conditions("SELECT 1 FROM s.t WHERE x IN (SELECT y FROM s.u WHERE z = 2) AND w = 1"),
            "t.w eq [1], u.z eq [2]");
  EXPECT_EQ(conditions("SELECT 1 FROM s.t WHERE s.t.x = 1"), "t.x eq [1]");
}

// Each keeps rows that the comparison alone would leave out, or compares otherwise than bounds are.
TEST_F(StatementNeed, is_all_rows_where_a_comparison_decides_nothing_alone) {
  for (const char* sql : {
           "SELECT 1 FROM s.t WHERE x = 1 OR y = 2",
           "SELECT 1 FROM s.t WHERE NOT (x = 1)",
           "SELECT 1 FROM s.t WHERE x <> 1",
           "SELECT 1 FROM s.t WHERE x NOT IN (1)",
           "SELECT 1 FROM s.t WHERE x IS NOT DISTINCT FROM 1",
           "SELECT 1 FROM s.t WHERE x = y",
           "SELECT 1 FROM s.t WHERE x + 1 = 1",
           "SELECT 1 FROM s.t WHERE x = 1.5",
           "SELECT 1 FROM s.t WHERE x = 170141183460469231731687303715884105727",
           "SELECT 1 FROM s.t WHERE x = true",
           "SELECT 1 FROM s.t WHERE x = NULL",
           "SELECT 1 FROM s.t WHERE x IN (1, NULL)",
           "SELECT 1 FROM s.t WHERE x COLLATE nocase = 'a'",
           "SELECT 1 FROM s.t WHERE x = 'a' COLLATE nocase",
           "SELECT 1 FROM s.t WHERE x = DATE '2026-01-01 10:00:00'",
           "SELECT 1 FROM s.t WHERE x = '1'::INTEGER",
           "SELECT 1 FROM s.t WHERE x = $2",
           "SELECT 1 FROM s.t WHERE x = $name",
           "SELECT -x AS x FROM s.t WHERE x = 1",
           "SELECT 1 FROM s.t TABLESAMPLE 10% WHERE x = 1",
           "SELECT 1 FROM s.t WHERE x = 1 USING SAMPLE 5",
           "SELECT 1 FROM s.t AS o(x) WHERE x = 1",
           "SELECT 1 FROM s.t, s.u WHERE x = 1",
           "SELECT 1 FROM s.t a LEFT JOIN s.u b USING (k) WHERE b.x = 1",
           "SELECT 1 FROM s.t a POSITIONAL JOIN s.u b WHERE b.x = 1",
           "SELECT 1 FROM s.t a ANTI JOIN s.u b USING (k) WHERE a.x = 1",
           "SELECT 1 FROM s.t WHERE x = 1 UNION ALL SELECT 1 FROM S.T",
           "SELECT 1 FROM s.t a, s.t b WHERE a.x = 1",
           "WITH q AS (SELECT x FROM s.t) SELECT x FROM q WHERE x = 1",
           "SELECT 1 FROM (SELECT x FROM s.t) AS q WHERE q.x = 1",
           "SELECT 1 FROM s.t GROUP BY x HAVING x = 1",
           "SELECT x, count(*) OVER () FROM s.t QUALIFY x = 1",
           "SELECT count(*) FILTER (x = 1) FROM s.t",
       }) {
    EXPECT_EQ(conditions(sql, {1}), "") << sql;
  }
}

TEST(StatementNeedsOfTheEngine, are_read_as_a_strangers) {
  const auto reads = [](std::string_view text) {
    const auto value = base::json::parse(text).value();
    return read_needs(*base::json::Fields::of(value, "")).has_value();
  };
  const auto with = [&](std::string_view op, std::string_view values) {
    return reads(fmt::format(R"({{"conditions":[{{"namespace":"s","table":"t","column":"x",)"
                             R"("op":"{}","values":{}}}]}})",
                             op, values));
  };
  EXPECT_TRUE(reads(R"({"conditions":[],"columns":["a"]})"));
  EXPECT_FALSE(reads(R"({"columns":["a"]})"));
  EXPECT_FALSE(reads(R"({"conditions":[],"columns":[1]})"));
  EXPECT_TRUE(with("eq", "[1]"));
  EXPECT_FALSE(with("eq", "[]"));
  EXPECT_FALSE(with("eq", "[1,2]"));
  EXPECT_FALSE(with("eq", "[1.5]"));
  EXPECT_FALSE(with("is-null", "[1]"));
  EXPECT_FALSE(with("in", "[]"));
  EXPECT_FALSE(with("or", "[1]"));
}

}  // namespace
}  // namespace tool::connectors
