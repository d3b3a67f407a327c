#include "lakeproxy/governance/policy_body.h"

#include <gtest/gtest.h>

namespace lake::governance {
namespace {

std::string mask_of(std::string_view body, std::string_view signature = "(v VARCHAR)",
                    std::string_view column = "ssn", std::string_view type = "VARCHAR") {
  auto mask = compile_mask(signature, body);
  if (!mask) return "refused: " + mask.error().message();
  const std::string expression = mask_expression(*mask, column, type);
  auto tried = try_expression(expression, {{std::string(column), std::string(type)}});
  return tried ? expression : "does not run: " + tried.error().message();
}

TEST(PolicyBody, becomes_an_expression_over_the_column) {
  struct Case {
    const char *body, *expression;
  };
  const Case cases[] = {
      {"'***'", "'***'"},
      {"left(v, 2) || '***'", R"(("left"("ssn", 2) || '***'))"},
      {"V", R"("ssn")"},
      {"CASE WHEN v IS NULL THEN NULL ELSE 'x' END -- a remark",
       R"(CASE  WHEN (("ssn" IS NULL)) THEN (NULL) ELSE 'x' END)"},
      {"sha256(v)", R"(sha256("ssn"))"},
      {"main.left(trim(v), 1)", R"("left"("trim"("ssn"), 1))"},
      {"'it''s'", "'it''s'"},
  };
  for (const Case& one : cases) EXPECT_EQ(mask_of(one.body), one.expression) << one.body;
}

TEST(PolicyBody, quotes_any_name_of_a_column) {
  for (const char* name : {R"(a"b)", "a.b", "select", "ſsn", "v; DROP TABLE t", "--", "'"}) {
    const std::string expression = mask_of("left(v, 1)", "(v VARCHAR)", name);
    EXPECT_TRUE(expression.starts_with(R"("left"(")")) << expression;
  }
}

TEST(PolicyBody, gives_null_where_a_value_does_not_fit_the_columns_type) {
  EXPECT_EQ(mask_of("'***'", "(v VARCHAR)", "n", "INTEGER"), "TRY_CAST('***' AS INTEGER)");
  EXPECT_EQ(mask_of("v", "(v VARCHAR)", "n", "INTEGER"),
            R"(TRY_CAST(CAST("n" AS VARCHAR) AS INTEGER))");
  EXPECT_EQ(mask_of("v * 1.5", "(v DECIMAL(18, 2))", "n", "DECIMAL(18, 2)").substr(0, 8),
            "TRY_CAST");
}

TEST(PolicyBody, fits_a_column_of_any_type) {
  const char* types[] = {"BOOLEAN",
                         "TINYINT",
                         "UBIGINT",
                         "HUGEINT",
                         "DOUBLE",
                         "DECIMAL(38, 10)",
                         "VARCHAR",
                         "BLOB",
                         "UUID",
                         "DATE",
                         "TIME",
                         "TIMESTAMP",
                         "TIMESTAMP WITH TIME ZONE",
                         "TIMESTAMP_NS",
                         "INTERVAL",
                         "INTEGER[]",
                         "STRUCT(a INTEGER, b VARCHAR[])",
                         "MAP(VARCHAR, INTEGER)"};
  auto text = compile_mask("(v VARCHAR)", "'x'");
  auto number = compile_mask("(v BIGINT)", "v % 10");
  auto list = compile_mask("(v INTEGER[])", "v");
  ASSERT_TRUE(text && number && list);
  for (const char* type : types) {
    for (const auto* mask : {&*text, &*number, &*list}) {
      auto tried = try_expression(mask_expression(*mask, "c", type), {{"c", type}});
      EXPECT_TRUE(tried) << type << ": " << tried.error().message();
    }
  }
}

TEST(PolicyBody, is_one_expression_over_its_arguments_alone) {
  const char* refused[] = {
      "",
      "v; SELECT 1",
      "v; DROP TABLE t",
      "v FROM t",
      "v, v",
      "v AS x",
      "*",
      "COLUMNS(*)",
      "v LIMIT 1",
      "DISTINCT v",
      "v UNION SELECT 1",
      "v WHERE true",
      "v ORDER BY 1",
      "v) FROM (SELECT 1",
      "(SELECT 1)",
      "(SELECT v)",
      "EXISTS (SELECT 1)",
      "v IN (SELECT 1)",
      "w",
      "v.street",
      "t.v",
      "$1",
      "?",
      "#1",
      "v v v",
      "(",
      "count(v)",
      "max(v)",
      "row_number() OVER ()",
      "list_transform([v], lambda x: x)",
      "unnest([v])",
      "a := v",
      "/* open",
      "'open",
      "lakeproxy_argument_0",
      "LAKEPROXY_ARGUMENT_0 || v",
      "'lakeproxy_argument_0'",
      "v::nosuchtype",
      "v + true",
      "DEFAULT",
      "FROM t",
      "TABLE t",
      "\xff",
  };
  for (const char* body : refused) {
    auto mask = compile_mask("(v VARCHAR)", body);
    ASSERT_FALSE(mask) << body;
    EXPECT_EQ(mask.error().kind(), base::ErrorKind::kInvalid) << body;
    EXPECT_TRUE(mask.error().message().starts_with("body: ")) << mask.error().message();
  }
}

TEST(PolicyBody, reaches_no_file_setting_time_or_name) {
  const char* refused[] = {
      "read_text('/etc/passwd')",
      "(FROM read_text('/etc/passwd'))",
      "current_setting('home_directory')",
      "getenv('HOME')",
      "getvariable('x')",
      "version()",
      "current_user",
      "session_user",
      "user",
      "current_database()",
      "current_schema()",
      "current_query()",
      "now()",
      "current_date",
      "current_timestamp",
      "today()",
      "random()",
      "uuid()",
      "gen_random_uuid()",
      "nextval('s')",
      "error(v)",
      "sleep_ms(1000)",
      "write_log('x')",
      "pg_sleep(1)",
      "txid_current()",
      "json_execute_serialized_sql('{}')",
      "parse_duckdb_log_message('x', 'y')",
      "stats(v)",
      "system.main.left(v, 1)",
      "nosuchfunction(v)",
      "age(DATE '2020-01-01')::VARCHAR",
  };
  for (const char* body : refused) {
    auto mask = compile_mask("(v VARCHAR)", body);
    ASSERT_FALSE(mask) << body;
    EXPECT_EQ(mask.error().kind(), base::ErrorKind::kInvalid) << body;
  }
}

TEST(PolicyBody, cannot_fill_the_memory) {
  EXPECT_TRUE(compile_mask("(v VARCHAR)", "repeat('*', 1000)"));
  EXPECT_TRUE(compile_mask("(v VARCHAR)", "lpad(right(v, 4), 16, '*')"));
  EXPECT_TRUE(compile_mask("(v VARCHAR)", "regexp_replace(v, '[0-9]', '*', 'g')"));
  const char* refused[] = {
      "repeat('x', 3000000000)",
      "repeat(repeat(repeat('x', 1000), 1000), 1000)",
      "repeat('x', len(v))",
      "repeat(v, 3000000)",
      "lpad(v, 2000000, 'x')",
      "range(1000000000)::VARCHAR",
      "printf('%1000000000d', 1)",
      "format('{:>1000000000}', v)",
      "replace(replace(replace(replace(replace(v,'a','aaaaaaaaaaaaaaaaaaaa'),'a','"
      "aaaaaaaaaaaaaaaaaaaa'),'a','aaaaaaaaaaaaaaaaaaaa'),'a','aaaaaaaaaaaaaaaaaaaa'),'a','"
      "aaaaaaaaaaaaaaaaaaaa')",
  };
  for (const char* body : refused) EXPECT_FALSE(compile_mask("(v VARCHAR)", body)) << body;
  std::string hexed = "v";
  for (int i = 0; i < 40; ++i) hexed = "hex(" + hexed + ")";
  EXPECT_FALSE(compile_mask("(v VARCHAR)", hexed));
  std::string cast = "v";
  for (int i = 0; i < 40; ++i) cast += "::BLOB::VARCHAR";
  EXPECT_FALSE(compile_mask("(v VARCHAR)", cast));
  EXPECT_TRUE(compile_mask(
      "(v VARCHAR)", "upper(trim(left(lower(v), 4))) || '-' || sha256(v) || '-' || right(v, 2)"));
  EXPECT_FALSE(compile_mask("(v VARCHAR)", std::string(8193, 'v')));
  EXPECT_FALSE(compile_mask("(v VARCHAR)", std::string(3000, '(') + "v" + std::string(3000, ')') +
                                               "||" + std::string(500, '-') + "1"));
  std::string deep = "v";
  for (int i = 0; i < 600; ++i) deep = "upper(" + deep + ")";
  EXPECT_FALSE(compile_mask("(v VARCHAR)", deep));
}

TEST(PolicyBody, has_a_type_that_the_engine_knows) {
  for (const char* signature :
       {"(v VARCHAR)", "(v DECIMAL(18, 2))", "(v STRUCT(a INTEGER, b VARCHAR))", "(v INTEGER[])",
        "( \"v\" MAP(VARCHAR, INTEGER) )", "(v TIMESTAMP WITH TIME ZONE)"}) {
    EXPECT_TRUE(compile_mask(signature, "v")) << signature;
  }
  for (const char* signature :
       {"(v nosuch)", "(v VARCHAR) AS x, (SELECT 1", "(v INTEGER) AS y)", "(v VARCHAR) FROM t)",
        "(v VARCHAR || 'x')", "(v VARCHAR, w VARCHAR)", "v VARCHAR", "(v)", "()",
        "(v INTEGER; SELECT 1)"}) {
    auto mask = compile_mask(signature, "v");
    ASSERT_FALSE(mask) << signature;
    EXPECT_TRUE(mask.error().message().starts_with("signature: ")) << mask.error().message();
  }
}

TEST(PolicyBody, keeps_rows_by_a_boolean) {
  auto filter = compile_filter("(region VARCHAR, amount BIGINT)", "region = 'eu' AND amount < 100");
  ASSERT_TRUE(filter) << filter.error().message();
  const std::string predicate = filter_predicate(*filter, {{"r", "VARCHAR"}, {"a\"", "INTEGER"}});
  EXPECT_EQ(predicate, R"((("r" = 'eu') AND (TRY_CAST(CAST("a""" AS VARCHAR) AS BIGINT) < 100)))");
  EXPECT_TRUE(try_expression(predicate, {{"r", "VARCHAR"}, {"a\"", "INTEGER"}}));
  EXPECT_FALSE(compile_filter("(region VARCHAR)", "region"));
  EXPECT_FALSE(compile_filter("(region VARCHAR)", "1"));
}

TEST(PolicyBody, is_stored_and_read_again) {
  auto mask = compile_mask("(v VARCHAR)", "left(v, 1) || v");
  ASSERT_TRUE(mask);
  auto again = CompiledBody::from_json(base::json::Value(mask->to_json()));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *mask);
  EXPECT_FALSE(CompiledBody::from_json(base::json::Value("x")));
  base::json::Object broken = mask->to_json();
  broken["arguments"] = base::json::Array{};
  EXPECT_EQ(CompiledBody::from_json(base::json::Value(broken)).error().kind(),
            base::ErrorKind::kCorrupt);
}

}  // namespace
}  // namespace lake::governance
