#include "lakeproxy/operation/spark_sql.h"

#include <gtest/gtest.h>

namespace lake::operation {
namespace {

using model::Type;
using model::TypeKind;

std::optional<std::string> spark(std::string_view expression) {
  const model::Schema schema{.fields = {{.id = 1, .name = "id", .type = Type(TypeKind::kLong)},
                                        {.id = 2, .name = "ssn", .type = Type(TypeKind::kString)},
                                        {.id = 3, .name = "a\"`b", .type = Type(TypeKind::kString)},
                                        {.id = 4, .name = "d", .type = Type(TypeKind::kDouble)}}};
  return in_spark(expression, schema);
}

TEST(SparkSql, says_the_same_with_its_own_quotes) {
  EXPECT_EQ(spark("'***'"), "'***'");
  EXPECT_EQ(spark(R"((("ssn" = 'eu')))"), "((`ssn` = 'eu'))");
  EXPECT_EQ(spark(R"(("left"("ssn", 1) || '**'))"), "(left(`ssn`, 1) || '**')");
  EXPECT_EQ(spark(R"(left("a""`b", 2))"), "left(`a\"``b`, 2)");
  EXPECT_EQ(spark(R"(repeat('*', length("ssn")))"), "repeat('*', length(`ssn`))");
  EXPECT_EQ(spark(R"(("id" BETWEEN 1 AND 9) OR ("id" IS NULL))"),
            "(`id` BETWEEN 1 AND 9) OR (`id` IS NULL)");
  EXPECT_EQ(spark("CAST('x' AS VARCHAR)"), "CAST('x' AS STRING)");
  EXPECT_EQ(spark("CASE  WHEN ((\"ssn\" = 'a')) THEN (NULL) ELSE 'b' END"),
            "CASE  WHEN ((`ssn` = 'a')) THEN (NULL) ELSE 'b' END");
}

TEST(SparkSql, says_nothing_where_it_might_mean_something_else) {
  for (const char* expression : {
           R"(left("ssn", -1))",        // Counts from the end in DuckDB alone.
           R"('it''s')",                // Two texts.
           R"('a\b')",                  // An escape.
           R"("ssn" = 5)",              // A cast.
           R"("id" = '5')",             //
           R"(CAST("ssn" AS BIGINT))",  //
           R"("d" < 1)",                // NaN.
           R"("id" / 2)",               //
           R"(coalesce("ssn", 5))",     // Texts and numbers.
           R"(nullif("ssn", 5))",       //
           R"("ssn" = length("ssn"))",  //
           R"("id" < 1.5)",             //
           R"("id" < 1e3)",             //
           R"("id" < 12345678901)",     //
           R"("ssn" ~~ 'a%')",          //
           R"(md5("ssn"))",             //
           R"("md5"("ssn"))",           //
           R"("other" = 'x')",          //
           R"("ssn)",                   //
           "'x",                        //
           "('x'",                      //
           "'x')",                      //
           "'x' -- 'y'",                //
           "'x'; 'y'",                  //
           "`ssn`",                     //
           "'x', 'y'",                  //
       }) {
    EXPECT_EQ(spark(expression), std::nullopt) << expression;
  }
}

}  // namespace
}  // namespace lake::operation
