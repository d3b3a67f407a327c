#include "toolserver/connectors/sql/sql_result.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>

#include "base/duckdb/engine.h"
#include "base/testing/golden.h"
#include "toolserver/connectors/sql/arrow_ipc.h"

namespace tool::connectors {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

class SqlResultTest : public ::testing::Test {
 protected:
  SqlResultTest() {
    auto opened = base::duckdb::Engine::open({.memory_bytes = 64 << 20, .scratch_bytes = 0});
    EXPECT_TRUE(opened) << opened.error().message() << opened.error().detail();
    engine = std::move(*opened);
  }

  enum class Form : std::uint8_t { kJson, kArrow };
  RenderedResult render(const std::string& sql, Form form = Form::kJson,
                        ResultLimits limits = {10'000, 8 << 20}) {
    auto connection = engine->connect();
    EXPECT_TRUE(connection);
    auto statement = connection->prepare(sql);
    if (!statement) return std::unexpected(ResultError{std::move(statement).error(), {}});
    auto stream = statement->stream({});
    if (!stream) return std::unexpected(ResultError{std::move(stream).error(), {}});
    SqlCall call(steady_clock::now() + seconds(30));
    return form == Form::kJson ? render_json(*std::move(stream), limits, call)
                               : render_arrow(*std::move(stream), limits, call);
  }

  static std::string why(const RenderedResult& answer) {
    const ResultError& error = answer.error();
    return error.fault ? error.fault->message : error.engine->detail();
  }

  std::string cell(const std::string& expression) {
    auto answer = render("SELECT " + expression);
    if (!answer) return why(answer);
    std::string row = base::json::write(answer->structured->at("rows").at(0));
    return row.substr(1, row.size() - 2);
  }

  std::unique_ptr<base::duckdb::Engine> engine;
};

struct Case {
  const char* expression;
  const char* json;
};

constexpr auto kCells = std::to_array<Case>({
    {"NULL", "null"},
    {"true", "true"},
    {"false", "false"},
    {"NULL::BOOLEAN", "null"},
    {"(-128)::TINYINT", "-128"},
    {"255::UTINYINT", "255"},
    {"(-32768)::SMALLINT", "-32768"},
    {"65535::USMALLINT", "65535"},
    {"(-2147483648)::INTEGER", "-2147483648"},
    {"4294967295::UINTEGER", "4294967295"},
    {"9007199254740991::BIGINT", "9007199254740991"},
    {"9007199254740992::BIGINT", "\"9007199254740992\""},
    {"(-9007199254740991)::BIGINT", "-9007199254740991"},
    {"(-9007199254740992)::BIGINT", "\"-9007199254740992\""},
    {"(-9223372036854775808)::BIGINT", "\"-9223372036854775808\""},
    {"7::UBIGINT", "7"},
    {"18446744073709551615::UBIGINT", "\"18446744073709551615\""},
    {"1::HUGEINT", "\"1\""},
    {"'-170141183460469231731687303715884105728'::HUGEINT",
     "\"-170141183460469231731687303715884105728\""},
    {"'170141183460469231731687303715884105727'::HUGEINT",
     "\"170141183460469231731687303715884105727\""},
    {"'340282366920938463463374607431768211455'::UHUGEINT",
     "\"340282366920938463463374607431768211455\""},
    {"0::UHUGEINT", "\"0\""},
    {"'123456789012345678901234567890123456789012345'::BIGNUM",
     "\"123456789012345678901234567890123456789012345\""},
    {"'-123456789012345678901234567890123456789012345'::BIGNUM",
     "\"-123456789012345678901234567890123456789012345\""},
    {"0::BIGNUM", "\"0\""},
    {"'-1000000000'::BIGNUM", "\"-1000000000\""},
    {"0.5::DECIMAL(2,1)", "\"0.5\""},
    {"(-0.05)::DECIMAL(4,2)", "\"-0.05\""},
    {"12.30::DECIMAL(9,4)", "\"12.3000\""},
    {"7::DECIMAL(18,0)", "\"7\""},
    {"'-99999999999999999999999999999999999999'::DECIMAL(38,0)",
     "\"-99999999999999999999999999999999999999\""},
    {"'0.00000000000000000000000000000000000001'::DECIMAL(38,38)",
     "\"0.00000000000000000000000000000000000001\""},
    {"0.1::FLOAT", "0.1"},
    {"0.1::DOUBLE", "0.1"},
    {"1e300::DOUBLE", "1e+300"},
    {"1::DOUBLE", "1.0"},
    {"'nan'::DOUBLE", "\"NaN\""},
    {"'inf'::FLOAT", "\"Infinity\""},
    {"'-inf'::DOUBLE", "\"-Infinity\""},
    {"''", "\"\""},
    {"'a\"b' || chr(10)", "\"a\\\"b\\n\""},
    {"'a longer text than twelve bytes \xc3\xa4'", "\"a longer text than twelve bytes \xc3\xa4\""},
    {"chr(0) || 'x'", "\"\\u0000x\""},
    {"'{\"a\": 1}'::JSON", "\"{\\\"a\\\": 1}\""},
    {"'\\x00\\xFF\\x10'::BLOB", "\"AP8Q\""},
    {"''::BLOB", "\"\""},
    {"'10101010101'::BIT", "\"10101010101\""},
    {"'0'::BIT", "\"0\""},
    {"'11111111'::BIT", "\"11111111\""},
    {"'00112233-4455-6677-8899-aabbccddeeff'::UUID", "\"00112233-4455-6677-8899-aabbccddeeff\""},
    {"'ffffffff-ffff-ffff-ffff-ffffffffffff'::UUID", "\"ffffffff-ffff-ffff-ffff-ffffffffffff\""},
    {"'b'::ENUM('a', 'b')", "\"b\""},
    {"DATE '2024-02-29'", "\"2024-02-29\""},
    {"DATE '0001-01-01'", "\"0001-01-01\""},
    {"DATE '9999-12-31'", "\"9999-12-31\""},
    {"DATE '10000-01-01'", "\"+010000-01-01\""},
    {"DATE '0001-01-01 (BC)'", "\"0000-01-01\""},
    {"DATE '0002-01-01 (BC)'", "\"-000001-01-01\""},
    {"DATE 'infinity'", "\"infinity\""},
    {"DATE '-infinity'", "\"-infinity\""},
    {"TIME '00:00:00'", "\"00:00:00\""},
    {"TIME '23:59:59.999999'", "\"23:59:59.999999\""},
    {"TIME '24:00:00'", "\"24:00:00\""},
    {"'12:00:00.123456789'::TIME_NS", "\"12:00:00.123456789\""},
    {"'12:00:00.5+02'::TIMETZ", "\"12:00:00.5+02:00\""},
    {"'12:00:00-03:30'::TIMETZ", "\"12:00:00-03:30\""},
    {"'12:00:00+15:59:59'::TIMETZ", "\"12:00:00+15:59:59\""},
    {"TIMESTAMP '2024-02-29 12:00:00.25'", "\"2024-02-29T12:00:00.25\""},
    {"TIMESTAMP '1969-12-31 23:59:59.999999'", "\"1969-12-31T23:59:59.999999\""},
    {"TIMESTAMP 'infinity'", "\"infinity\""},
    {"TIMESTAMP '-infinity'", "\"-infinity\""},
    {"'2024-02-29 12:00:00'::TIMESTAMP_S", "\"2024-02-29T12:00:00\""},
    {"'2024-02-29 12:00:00.123'::TIMESTAMP_MS", "\"2024-02-29T12:00:00.123\""},
    {"'2024-02-29 12:00:00.123456789'::TIMESTAMP_NS", "\"2024-02-29T12:00:00.123456789\""},
    {"'2024-02-29 12:00:00+02'::TIMESTAMPTZ", "\"2024-02-29T10:00:00Z\""},
    {"INTERVAL '14 months 3 days 4 hours 5 minutes 6.7 seconds'", "\"P1Y2M3DT4H5M6.7S\""},
    {"INTERVAL 0 DAY", "\"PT0S\""},
    {"INTERVAL '-1 day'", "\"P-1D\""},
    {"INTERVAL '-0.5 seconds'", "\"PT-0.5S\""},
    {"INTERVAL '-61.25 seconds'", "\"PT-1M-1.25S\""},
    {"[1, NULL, 3]", "[1,null,3]"},
    {"[]::INT[]", "[]"},
    {"NULL::INT[]", "null"},
    {"[[1], [], NULL]", "[[1],[],null]"},
    {"[1, 2]::INT[2]", "[1,2]"},
    {"{'a': 1, 'b': {'c': [true]}}", "{\"a\":1,\"b\":{\"c\":[true]}}"},
    {"row(1, 'x')", "[1,\"x\"]"},
    {"NULL::STRUCT(a INT)", "null"},
    {"MAP {1: 'a', 2: NULL}", "[{\"key\":1,\"value\":\"a\"},{\"key\":2,\"value\":null}]"},
    {"MAP {}::MAP(INT, INT)", "[]"},
    {"union_value(n := 5)::UNION(s VARCHAR, n INT)", "{\"tag\":\"n\",\"value\":5}"},
    {"'POINT (1 2)'::GEOMETRY", "\"AQEAAAAAAAAAAADwPwAAAAAAAABA\""},
});

TEST_F(SqlResultTest, every_type_becomes_json_without_loss) {
  for (const Case& c : kCells) EXPECT_EQ(cell(c.expression), c.json) << c.expression;
}

// Whatever kinds of values the engine has, in rows of least, most and null.
TEST_F(SqlResultTest, the_engines_own_table_of_all_types_is_shown) {
  auto answer = render("SELECT * FROM test_all_types()");
  ASSERT_TRUE(answer) << why(answer);
  EXPECT_EQ(answer->structured->at("row_count").as_int64(), 3);
  auto again = base::json::parse(answer->content.front().data);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *answer->structured);
}

TEST_F(SqlResultTest, types_are_named) {
  auto answer = render(
      "SELECT 1::DECIMAL(10,2) d, [1] l, {'a': 1} s, MAP {1: 2} m, [1]::INT[1] f, '{}'::JSON j, "
      "NOW() t, NULL n");
  ASSERT_TRUE(answer);
  std::string types;
  for (const auto& column : answer->structured->at("columns").as_array()) {
    types += std::string(column.at("type").as_string()) + ";";
  }
  EXPECT_EQ(types,
            "DECIMAL(10,2);INTEGER[];STRUCT(a INTEGER);MAP(INTEGER, INTEGER);INTEGER[1];"
            "JSON;TIMESTAMP WITH TIME ZONE;INTEGER;");
}

TEST_F(SqlResultTest, variants_are_refused_by_name) {
  auto answer = render("SELECT 1::VARIANT AS v");
  ASSERT_FALSE(answer);
  ASSERT_TRUE(answer.error().fault);
  EXPECT_EQ(answer.error().fault->code, Code::kShape);
  EXPECT_TRUE(answer.error().fault->message.contains("VARIANT"));
}

TEST_F(SqlResultTest, rows_are_cut_at_the_limit_and_not_before) {
  for (Form form : {Form::kJson, Form::kArrow}) {
    for (std::size_t rows : {1u, 2047u, 2048u, 2049u, 5000u}) {
      for (std::size_t there : {rows - 1, rows, rows + 1, rows + 5000}) {
        auto answer = render("SELECT i FROM range(" + std::to_string(there) + ") r(i)", form,
                             {rows, 8 << 20});
        ASSERT_TRUE(answer);
        EXPECT_EQ(answer->structured->at("truncated").as_bool(), there > rows) << rows << there;
        EXPECT_EQ(answer->structured->at("row_count").as_int64(),
                  static_cast<std::int64_t>(std::min(rows, there)));
      }
    }
  }
}

TEST_F(SqlResultTest, long_answers_are_refused_without_being_made) {
  for (Form form : {Form::kJson, Form::kArrow}) {
    // 100 MB, of which the engine makes only the first chunks.
    auto answer = render("SELECT repeat('x', 1000) FROM range(100000)", form, {1'000'000, 1 << 20});
    ASSERT_FALSE(answer);
    ASSERT_TRUE(answer.error().fault);
    EXPECT_EQ(answer.error().fault->code, Code::kLimit);
  }
}

TEST_F(SqlResultTest, answers_of_just_the_limit_pass) {
  auto whole = render("SELECT i FROM range(1000) r(i)");
  ASSERT_TRUE(whole);
  std::size_t bytes = whole->content.front().data.size();
  EXPECT_FALSE(render("SELECT i FROM range(1000) r(i)", Form::kJson, {1000, bytes - 1}));
  EXPECT_TRUE(render("SELECT i FROM range(1000) r(i)", Form::kJson, {1000, bytes + 512}));
}

TEST_F(SqlResultTest, errors_in_the_middle_of_a_result_are_errors) {
  for (Form form : {Form::kJson, Form::kArrow}) {
    auto answer = render(
        "SELECT CASE WHEN i = 50000 THEN CAST('x' AS INT) ELSE i END FROM range(100000) r(i)", form,
        {1'000'000, 64 << 20});
    ASSERT_FALSE(answer);
    EXPECT_TRUE(answer.error().engine);
  }
}

// tests/golden/sql/check.py reads the same bytes with pyarrow.
TEST_F(SqlResultTest, arrow_streams_keep_their_bytes) {
  auto answer = render(
      "SELECT * FROM (VALUES "
      "(true, 1::TINYINT, 2::SMALLINT, 3::INT, 4::BIGINT, 5::UTINYINT, 6::USMALLINT, 7::UINTEGER, "
      "8::UBIGINT, 1.5::FLOAT, 2.5::DOUBLE, 'one', 'a\\x00b'::BLOB, 12.34::DECIMAL(9,2), "
      "DATE '2024-02-29', TIME '12:34:56.789', TIMESTAMP '2024-02-29 12:00:00.25', "
      "'2024-02-29 12:00:00+02'::TIMESTAMPTZ, '2024-02-29 12:00:00'::TIMESTAMP_S, "
      "'2024-02-29 12:00:00.123'::TIMESTAMP_MS, '2024-02-29 12:00:00.123456789'::TIMESTAMP_NS, "
      "INTERVAL '1 month 2 days 3 seconds', [1, NULL, 3], {'x': 1, 'y': 'z'}, MAP {'k': 1}, "
      "[1, 2]::INT[2], [['a'], []]), "
      "(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "
      "NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), "
      "(false, -1, -2, -3, -4, 0, 0, 0, 18446744073709551615, 'inf', 'nan', 'a longer text', "
      "'\\xFF'::BLOB, -0.01, DATE '1969-12-31', TIME '00:00:00', TIMESTAMP '1969-12-31 23:59:59', "
      "'1970-01-01 00:00:00+00'::TIMESTAMPTZ, '1970-01-01 00:00:00', '1970-01-01 00:00:00', "
      "'1970-01-01 00:00:00', INTERVAL '-1 day', [], {'x': NULL, 'y': NULL}, MAP {}, [3, NULL], "
      "NULL)) v(bool, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, text, bytes, dec, date, "
      "time, ts_us, ts_tz, ts_s, ts_ms, ts_ns, span, list, struct, map, fixed, nested)",
      Form::kArrow);
  ASSERT_TRUE(answer) << why(answer);
  EXPECT_EQ(answer->content.front().media_type, kArrowMediaType);
  EXPECT_TRUE(base::testing::matches_golden("sql/types.arrows", answer->content.front().data));
}

// The engine's memory holds what others had in it.
TEST_F(SqlResultTest, arrow_streams_hold_nothing_but_the_answer) {
  const char* sql =
      "SELECT CASE WHEN i % 2 = 0 THEN i END AS n, CASE WHEN i % 3 = 0 THEN i > 5 END AS b, "
      "CASE WHEN i % 2 = 0 THEN {'a': i, 'b': i::VARCHAR} END s, "
      "CASE WHEN i % 2 = 0 THEN [i, NULL] END::BIGINT[2] AS f, "
      "CASE WHEN i % 2 = 0 THEN i::DECIMAL(38, 3) END AS d, "
      "CASE WHEN i % 2 = 0 THEN INTERVAL (i) DAY END AS v FROM range(77) r(i)";
  auto first = render(sql, Form::kArrow);
  ASSERT_TRUE(first) << why(first);
  for (int i = 0; i < 5; ++i) {
    // Fills what the next one may be given.
    ASSERT_TRUE(
        render("SELECT hash(i), hash(i)::HUGEINT * 7, md5(i::VARCHAR) FROM range(5000) r(i)"));
    auto again = render(sql, Form::kArrow);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->content.front().data, first->content.front().data);
  }
}

TEST_F(SqlResultTest, arrow_streams_of_many_batches_keep_their_bytes) {
  auto many = render(
      "SELECT i, CASE WHEN i % 3 = 0 THEN NULL ELSE 'row ' || i END AS s "
      "FROM range(10000) r(i)",
      Form::kArrow, {5000, 8 << 20});
  ASSERT_TRUE(many);
  EXPECT_TRUE(base::testing::matches_golden("sql/cut.arrows", many->content.front().data));
  auto none = render("SELECT 1 AS a, 'x' AS b WHERE false", Form::kArrow);
  ASSERT_TRUE(none);
  EXPECT_TRUE(base::testing::matches_golden("sql/empty.arrows", none->content.front().data));
}

TEST_F(SqlResultTest, types_without_an_arrow_form_are_refused_by_column) {
  for (const char* sql : {"SELECT 'a'::ENUM('a') AS word",
                          "SELECT union_value(n := 5)::UNION(s VARCHAR, n INT) AS word"}) {
    auto answer = render(sql, Form::kArrow);
    ASSERT_FALSE(answer) << sql;
    ASSERT_TRUE(answer.error().fault) << sql;
    EXPECT_EQ(answer.error().fault->code, Code::kShape);
    EXPECT_TRUE(answer.error().fault->message.contains("word")) << sql;
  }
}

}  // namespace
}  // namespace tool::connectors
