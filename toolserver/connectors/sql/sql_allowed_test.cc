// What the screen is not in the way of.

#include <array>

#include "toolserver/connectors/sql/sql_fixture_test.h"

namespace tool::connectors {
namespace {

struct Case {
  const char* sql;
  const char* rows;
};

constexpr auto kQueries = std::to_array<Case>({
    {"SELECT 1", "[[1]]"},
    {"select a, b from t order by a limit 2", R"([[1,"one"],[2,"two"]])"},
    {"SELECT count(*) FROM t", "[[3]]"},
    {"FROM t SELECT a ORDER BY a DESC LIMIT 1 OFFSET 1", "[[2]]"},
    {"FROM main.t SELECT max(a)", "[[3]]"},
    {"FROM memory.main.T SELECT max(A)", "[[3]]"},
    {"TABLE t ORDER BY a LIMIT 1", R"([[1,"one"]])"},
    {"SELECT * FROM \"t\" WHERE b IS NULL", "[[3,null]]"},
    {"SELECT t.a, c FROM t JOIN u USING (a) ORDER BY 1", "[[1,10],[2,20]]"},
    {"SELECT t.a, c FROM t LEFT JOIN u ON t.a = u.a ORDER BY 1", "[[1,10],[2,20],[3,null]]"},
    {"SELECT count(*) FROM t FULL JOIN u USING (a)", "[[4]]"},
    {"SELECT a FROM t SEMI JOIN u USING (a) ORDER BY a", "[[1],[2]]"},
    {"SELECT a FROM t ANTI JOIN u USING (a)", "[[3]]"},
    {"SELECT t.a, u.c FROM t ASOF JOIN u ON t.a >= u.a ORDER BY 1", "[[1,10],[2,20],[3,20]]"},
    {"SELECT count(*) FROM t, u, LATERAL (SELECT t.a + u.a)", "[[9]]"},
    {"WITH x AS (SELECT a * 2 AS d FROM t) SELECT sum(d)::INT FROM x", "[[12]]"},
    {"WITH x AS (SELECT 1 i), y AS (SELECT i + 1 j FROM x) SELECT j FROM y", "[[2]]"},
    {"WITH RECURSIVE f(n, p) AS (SELECT 1, 1 UNION ALL SELECT n + 1, p * (n + 1) FROM f WHERE n < "
     "5)"
     " SELECT max(p) FROM f",
     "[[120]]"},
    {"WITH t AS (SELECT 7 a) SELECT a FROM t", "[[7]]"},
    {"SELECT a FROM t UNION SELECT a FROM u ORDER BY 1", "[[1],[2],[3],[4]]"},
    {"SELECT a FROM t EXCEPT SELECT a FROM u", "[[3]]"},
    {"SELECT a FROM t INTERSECT SELECT a FROM u ORDER BY 1", "[[1],[2]]"},
    {"SELECT a % 2 AS odd, count(*) FROM t GROUP BY ALL HAVING count(*) > 1", "[[1,2]]"},
    {"SELECT count(*) FROM (SELECT a, c FROM u GROUP BY CUBE (a, c))", "[[10]]"},
    {"SELECT a, row_number() OVER (ORDER BY a DESC) FROM t ORDER BY a", "[[1,3],[2,2],[3,1]]"},
    {"SELECT a FROM t QUALIFY rank() OVER (ORDER BY a) = 2", "[[2]]"},
    {"SELECT sum(a) OVER w::INT FROM t WINDOW w AS (ORDER BY a ROWS UNBOUNDED PRECEDING)",
     "[[1],[3],[6]]"},
    {"SELECT list(a ORDER BY a DESC) FROM t", "[[[3,2,1]]]"},
    {"SELECT count(*) FILTER (WHERE a > 1) FROM t", "[[2]]"},
    {"SELECT string_agg(b, '-' ORDER BY a) FROM t", R"([["one-two"]])"},
    {"SELECT DISTINCT ON (a % 2) a FROM t ORDER BY a % 2, a", "[[2],[1]]"},
    {"SELECT CASE WHEN a = 1 THEN 'x' ELSE coalesce(b, '?') END FROM t ORDER BY a",
     R"([["x"],["two"],["?"]])"},
    {"SELECT a FROM t WHERE a IN (SELECT a FROM u) AND EXISTS (SELECT 1 FROM u WHERE u.a = t.a)"
     " ORDER BY a",
     "[[1],[2]]"},
    {"SELECT a FROM t WHERE a BETWEEN 2 AND 3 AND b IS NOT NULL AND NOT a = 5", "[[2]]"},
    {"SELECT b FROM t WHERE b LIKE '%n%'", R"([["one"]])"},
    {"SELECT b FROM t WHERE b ILIKE 'T_O' OR regexp_matches(b, '^tw')", R"([["two"]])"},
    {"SELECT upper(b), b.upper(), length(b), b[1:2] FROM t WHERE a = 1",
     R"([["ONE","ONE",3,"on"]])"},
    {"SELECT 1 + 2 * 3 - 4 // 2, 7 % 4, 2 ** 3, -(-1), 5 & 3, 5 | 3, ~1, 1 << 3",
     "[[5,3,8.0,1,1,7,-2,8]]"},
    {"SELECT round(2.567, 1)::DOUBLE, abs(-3), greatest(1, 2), sqrt(16)", "[[2.6,3,2,4.0]]"},
    {"SELECT DATE '2024-02-28' + INTERVAL 2 DAY, date_trunc('month', DATE '2024-02-28')",
     R"([["2024-03-01T00:00:00","2024-02-01T00:00:00"]])"},
    {"SELECT extract(year FROM DATE '2024-02-28'), strftime(DATE '2024-02-28', '%d.%m.%Y')",
     R"([[2024,"28.02.2024"]])"},
    {"SELECT [x * 2 FOR x IN [1, 2, 3] IF x > 1]", "[[[4,6]]]"},
    {"SELECT list_transform([1, 2], x -> x + 1), list_filter([1, 2], lambda x: x > 1)",
     "[[[2,3],[2]]]"},
    {"SELECT {'a': 1, 'b': [2, 3]}, {'a': 5}.a, MAP {'k': 1}['k']", R"([[{"a":1,"b":[2,3]},5,1]])"},
    {"SELECT unnest([1, 2])", "[[1],[2]]"},
    {"SELECT * FROM unnest([1, 2]) x(i)", "[[1],[2]]"},
    {"SELECT i FROM range(3) r(i)", "[[0],[1],[2]]"},
    {"SELECT count(*) FROM generate_series(DATE '2024-01-01', DATE '2024-01-31', INTERVAL 1 DAY)",
     "[[31]]"},
    {"VALUES (1, 'a'), (2, 'b')", R"([[1,"a"],[2,"b"]])"},
    {"SELECT * FROM (VALUES (1)) v(x)", "[[1]]"},
    {"SELECT json_extract('{\"a\": [1, 2]}', '$.a[1]'), '{\"a\": \"x\"}' ->> 'a'",
     R"([["2","x"]])"},
    {"SELECT key, value FROM json_each('{\"a\": 1}')", R"([["a","1"]])"},
    {"SELECT * EXCLUDE (b) FROM t ORDER BY a LIMIT 1", "[[1]]"},
    {"SELECT * REPLACE (a + 1 AS a) FROM t WHERE a = 1", R"([[2,"one"]])"},
    {"SELECT COLUMNS('a') FROM t ORDER BY ALL", "[[1],[2],[3]]"},
    {"SELECT min(COLUMNS(*)) FROM u", "[[1,10]]"},
    {"PIVOT t ON a IN (1, 2) USING count(*) GROUP BY b ORDER BY b",
     R"([["one",1,0],["two",0,1],[null,0,0]])"},
    {"UNPIVOT u ON a, c ORDER BY value LIMIT 1", R"([["a",1]])"},
    {"DESCRIBE t", R"([["a","BIGINT","YES",null,null,null],["b","VARCHAR","YES",null,null,null]])"},
    {"SELECT column_name FROM (SUMMARIZE u) ORDER BY 1", R"([["a"],["c"]])"},
    {"SHOW TABLES", R"([["t"],["u"]])"},
    {"SELECT 'it''s; -- not /* a comment */', $$read_csv('x')$$",
     R"x([["it's; -- not /* a comment */","read_csv('x')"]])x"},
    {"SELECT 1 AS \"read_csv\", 2 AS \"x.csv\"", "[[1,2]]"},
    {"SELECT E'a\\x41', '\u00e4' = chr(228)", R"([["aA",true]])"},
    {"SELECT parse_path('/a/b.csv'), parse_filename('/a/b.csv')",
     R"([[["/","a","b.csv"],"b.csv"]])"},
    {"/* a */ SELECT -- b\n 1;", "[[1]]"},
    {"SELECT try_cast('x' AS INT), try(CAST('x' AS INT))", "[[null,null]]"},
    {"SELECT repeat('ab', 3), lpad('7', 3, '0'), format('{:>4}', 7), printf('%03d', 7)",
     R"([["ababab","007","   7","007"]])"},
    {"SELECT md5('a'), sha256('a')[1:8], hash('a') IS NOT NULL",
     R"([["0cc175b9c0f1b6a831c399e269772661","ca978112",true]])"},
    {"SELECT count(*) FROM t TABLESAMPLE 100%", "[[3]]"},
    {"SELECT arg_max(b, a), median(a), approx_count_distinct(a) > 0 FROM t WHERE b IS NOT NULL",
     R"([["two",1.5,true]])"},
    {"SELECT a FROM t WHERE a = ANY ([1, 3]) ORDER BY a", "[[1],[3]]"},
    {"SELECT (SELECT max(c) FROM u WHERE u.a <= t.a) FROM t ORDER BY a", "[[10],[20],[20]]"},
    {"SELECT 'b' COLLATE NOCASE = 'B'", "[[true]]"},
    {"SELECT a FROM t ORDER BY b NULLS FIRST, a LIMIT 34%", "[[3]]"},
});

class SqlAllowedTest : public SqlTest {};

TEST_F(SqlAllowedTest, queries_of_every_kind_run) {
  for (const Case& c : kQueries) EXPECT_EQ(rows_of(c.sql), c.rows) << c.sql;
  EXPECT_EQ(watch.take(), 0);
}

TEST_F(SqlAllowedTest, long_chains_run) {
  std::string sum = "SELECT a";
  std::string text = "SELECT 'x'";
  std::string either = "SELECT count(*) FROM t WHERE a = 0";
  for (int i = 1; i <= 200; ++i) {
    sum += " + 1";
    text += " || 'x'";
    either += " OR a = " + std::to_string(i);
  }
  EXPECT_EQ(rows_of(sum + " FROM t WHERE a = 1"), "[[201]]");
  EXPECT_EQ(rows_of("SELECT length(s) FROM (" + text + " AS s)"), "[[201]]");
  EXPECT_EQ(rows_of(either), "[[3]]");
}

TEST_F(SqlAllowedTest, many_parts_that_gather_run) {
  std::string with = "WITH p0 AS (SELECT a, list(b) l FROM t GROUP BY a)";
  for (int i = 1; i <= 8; ++i) {
    std::string n = std::to_string(i);
    with += ", p" + n + " AS (SELECT a, string_agg(b, ',') l, sum(a) OVER (ORDER BY a) s FROM t " +
            "WHERE a IN (SELECT a FROM p" + std::to_string(i - 1) + ") GROUP BY a)";
  }
  EXPECT_EQ(rows_of(with + " SELECT a, list(l) FROM p8 WHERE a = 1 GROUP BY a"),
            R"([[1,["one"]]])");
  EXPECT_EQ(rows_of("SELECT list(l) FROM (SELECT list(b ORDER BY b) l FROM t WHERE a < 3)"),
            R"([[[["one","two"]]]])");
}

// What gathers and copies in the way of every day's reports.
constexpr auto kReports = std::to_array<Case>({
    {"SELECT upper(string_agg(b, '-' ORDER BY a)) FROM t", R"([["ONE-TWO"]])"},
    {"SELECT a % 2 g, lower(string_agg(upper(b), ', ')) FROM t WHERE b IS NOT NULL GROUP BY g "
     "ORDER "
     "BY g",
     R"([[0,"two"],[1,"one"]])"},
    {"SELECT t.a, '<' || string_agg(c::VARCHAR, ',') || '>' FROM t JOIN u USING (a) GROUP BY t.a "
     "ORDER BY 1",
     R"([[1,"<10>"],[2,"<20>"]])"},
    {"WITH g AS (SELECT a, list(c) l FROM u GROUP BY a) SELECT t.a, list_reverse(list_sort(l)) "
     "FROM t "
     "JOIN g USING (a) ORDER BY 1",
     "[[1,[10]],[2,[20]]]"},
    {"SELECT array_to_string(list(b ORDER BY a), '+') FROM t", R"([["one+two"]])"},
    {"SELECT json_group_array(b) ->> '$[0]' FROM t", R"([["one"]])"},
    {"SELECT length(string_agg(i::VARCHAR, '')) FROM range(100000) r(i)", "[[488890]]"},
    {"SELECT len(list(i)), max(i) + 1 FROM range(100000) r(i)", "[[100000,100000]]"},
    {"SELECT g, n + 1, length(l) FROM (SELECT i % 2 g, count(*) n, string_agg(i::VARCHAR, '') l "
     "FROM "
     "range(100000) r(i) GROUP BY g) ORDER BY g",
     "[[0,50001,244445],[1,50001,244445]]"},
    {"SELECT left(l, 3), substr(l, 2, 2) FROM (SELECT string_agg(i::VARCHAR, '') l FROM "
     "range(100000) "
     "r(i))",
     R"([["012","12"]])"},
    {"SELECT count(*) FROM (SELECT list(i) l FROM range(100000) r(i)), t WHERE len(l) > a",
     "[[3]]"},
    {"SELECT a, lag(b) OVER (ORDER BY a), first_value(b) OVER (ORDER BY a) FROM t ORDER BY a",
     R"([[1,null,"one"],[2,"one","one"],[3,"two","one"]])"},
    {"SELECT a, sum(a) OVER (ORDER BY a)::INT, upper(max(b) OVER ()) FROM t ORDER BY a LIMIT 1",
     R"([[1,1,"TWO"]])"},
    {"SELECT x.b || y.b || z.b FROM t x, t y, t z WHERE x.a = 1 AND y.a = 2 AND z.a = 1",
     R"([["onetwoone"]])"},
    {"SELECT replace(b, 'one', 'first'), regexp_replace(b, 'o', '0', 'g') FROM t WHERE a = 1",
     R"([["first","0ne"]])"},
    {"WITH RECURSIVE p(a, path) AS (SELECT 1, 'r' UNION ALL SELECT t.a, path || '/' || t.b FROM p "
     "JOIN "
     "t ON t.a = p.a + 1 WHERE t.b IS NOT NULL) SELECT path FROM p ORDER BY a",
     R"([["r"],["r/two"]])"},
    {"SELECT string_agg(b, ',') FILTER (WHERE a < 3) || '.' FROM t", R"([["one,two."]])"},
    {"SELECT DISTINCT upper(b) FROM t ORDER BY 1 LIMIT 1", R"([["ONE"]])"},
    {"PIVOT (SELECT a % 2 g, upper(b) b FROM t) ON g IN (0, 1) USING max(b)", R"([["TWO","ONE"]])"},
});

TEST_F(SqlAllowedTest, reports_run) {
  for (const Case& c : kReports) EXPECT_EQ(rows_of(c.sql), c.rows) << c.sql;
}

TEST_F(SqlAllowedTest, long_values_are_copied_and_their_answers_bounded) {
  write(data + "/body.csv", "id,body\n1," + std::string(50'000, 'x') + "\n");
  ASSERT_EQ(fate(call("sql.load", {{"file", "body.csv"}, {"table", "docs"}})), "ok");
  EXPECT_EQ(rows_of("SELECT length(repeat(body, 100)) FROM docs"), "[[5000000]]");
  EXPECT_EQ(
      rows_of("SELECT length(body||body||body||body||body||body||body||body||body) FROM docs"),
      "[[450000]]");
  EXPECT_EQ(rows_of("SELECT length(upper(body) || id), left(body, 3), id + 1 FROM docs, t LIMIT 1"),
            R"([[50001,"xxx",2]])");
  // An answer that would be too long is known before it is made.
  EXPECT_EQ(fate(query("SELECT body FROM docs, range(1000)")), "E_LIMIT");
  EXPECT_EQ(
      fate(call("sql.query", {{"sql", "SELECT body FROM docs, range(1000)"}, {"format", "arrow"}})),
      "E_LIMIT");
  EXPECT_EQ(fate(call("sql.query", {{"sql", "SELECT body FROM docs, range(5000)"},
                                    {"format", "arrow"},
                                    {"limit", 2}})),
            "ok");
  EXPECT_EQ(fate(query("SELECT list(body) FROM docs, range(1000)")), "E_LIMIT");
}

TEST_F(SqlAllowedTest, raw_files_of_the_folder_are_read_where_the_operator_says_so) {
  open({.allow_raw_file_sql = true});
  EXPECT_EQ(rows_of("SELECT a FROM read_csv('t.csv') ORDER BY a"), "[[1],[2],[3]]");
  EXPECT_EQ(rows_of("SELECT a FROM read_csv('t.csv', header = true, all_varchar := true) LIMIT 1"),
            R"([["1"]])");
  EXPECT_EQ(rows_of("FROM 't.csv' SELECT max(a)"), "[[3]]");
  EXPECT_EQ(rows_of("SELECT x FROM 'sub/deep.csv'"), "[[5]]");
  EXPECT_EQ(rows_of("WITH f AS (FROM 't.csv') SELECT count(*) FROM f JOIN u USING (a)"), "[[2]]");
  auto parameter = call("sql.query", {{"sql", "SELECT b FROM 't.csv' WHERE a = $1"},
                                      {"params", base::json::Array{2}}});
  EXPECT_EQ(rows_of(parameter), R"([["two"]])");
  struct Deny {
    const char* sql;
    const char* fate = "E_POLICY";
  };
  watch.take();
  for (const Deny& c : {
           Deny{"FROM '{out}/o.csv'"},
           Deny{"FROM '{data}/t.csv'"},
           Deny{"FROM '../outside/o.csv'"},
           Deny{"FROM 'sub/../../outside/o.csv'"},
           Deny{"FROM '*.csv'"},
           Deny{"FROM read_csv('*.csv')"},
           Deny{"FROM read_csv('../outside/o.csv')"},
           Deny{"FROM read_csv(['t.csv', '/etc/passwd'])"},
           Deny{"FROM read_csv('t' || '.csv')"},
           Deny{"FROM read_csv($1)"},
           Deny{"FROM read_csv()"},
           Deny{"FROM read_csv('t.csv', store_rejects = true)"},
           Deny{"FROM read_csv('t.csv', rejects_table = 'x')"},
           Deny{"FROM read_parquet('x.parquet', encryption_config = {footer_key: 'k'})"},
           Deny{"FROM read_text('unloaded.csv')"},
           Deny{"FROM glob('*')"},
           Deny{"FROM read_blob('unloaded.csv')"},
           Deny{"FROM sniff_csv('t.csv')"},
           Deny{"FROM query('FROM ''t.csv''')"},
           Deny{"FROM 'http://127.0.0.1:1/t.csv'"},
           Deny{"FROM 's3://b/t.csv'"},
           Deny{"FROM 'x.duckdb'"},
           Deny{"COPY t TO 'w.csv'"},
       }) {
    auto answer = query(placed(c.sql));
    EXPECT_EQ(fate(answer), c.fate) << c.sql << ": " << text_of(answer);
    EXPECT_EQ(watch.take(), 0) << c.sql;
  }
  // A link that leads out is the engine's to refuse.
  auto linked = query("FROM 'link.csv'");
  EXPECT_EQ(fate(linked), "E_POLICY") << text_of(linked);
  EXPECT_EQ(text_of(linked).find(kSecret), std::string::npos);
}

}  // namespace
}  // namespace tool::connectors
