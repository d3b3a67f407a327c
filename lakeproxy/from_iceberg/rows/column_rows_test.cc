#include "lakeproxy/from_iceberg/rows/column_rows.h"

#include <gtest/gtest.h>

#include "lakeproxy/mapping/type_mapping.h"

namespace lake::ducklake {
namespace {

using model::Field;
using model::Type;
using model::TypeKind;
using Rows = std::vector<ColumnRow>;

Field field(int id, const char* name, Type type) {
  return {.id = id, .name = name, .type = std::move(type)};
}

ColumnRow row(int id, int order, const char* name, const char* type = "int32",
              std::optional<model::FieldId> parent = std::nullopt) {
  return {.id = id, .order = order, .name = name, .type = type, .parent = parent};
}

TEST(ColumnRows, parents_come_before_their_parts_in_schema_order) {
  const Type integer(TypeKind::kInt);
  model::Schema schema{
      .fields = {
          field(1, "a", integer),
          field(2, "s", Type::structure({field(4, "x", integer), field(5, "y", integer)})),
          field(3, "m",
                Type::map(6, Type(TypeKind::kString), 7, Type::list(8, integer, false), true))}};
  schema.fields[0].required = true;
  auto rows = column_rows(schema);
  ASSERT_TRUE(rows);
  Rows wanted{row(1, 1, "a"),
              row(2, 2, "s", "struct"),
              row(4, 4, "x", "int32", 2),
              row(5, 5, "y", "int32", 2),
              row(3, 3, "m", "map"),
              row(6, 6, "key", "varchar", 3),
              row(7, 7, "value", "list", 3),
              row(8, 8, "element", "int32", 7)};
  wanted[0].nulls_allowed = wanted[5].nulls_allowed = wanted[6].nulls_allowed = false;
  EXPECT_EQ(*rows, wanted);
}

TEST(ColumnRows, new_defaults_are_written_and_others_left_as_they_are) {
  model::Schema before{.fields = {field(1, "same", Type(TypeKind::kInt)),
                                  field(2, "changed", Type(TypeKind::kInt)),
                                  field(3, "gone", Type(TypeKind::kInt))}};
  for (auto& column : before.fields) column.write_default = model::Literal(std::int32_t{1});
  model::Schema after = before;
  after.fields[1].write_default = model::Literal(std::int32_t{2});
  after.fields[2].write_default.reset();
  after.fields.push_back(field(4, "added", Type(TypeKind::kInt)));
  after.fields[3].initial_default = model::Literal(std::int32_t{5});
  after.fields[3].write_default = model::Literal(std::int32_t{6});
  auto rows = column_rows(after, &before);
  ASSERT_TRUE(rows);
  EXPECT_EQ((*rows)[0].default_value, std::nullopt);
  EXPECT_EQ((*rows)[1].default_value, "2");
  EXPECT_EQ((*rows)[2].default_value, "NULL");
  EXPECT_EQ((*rows)[3].default_value, "6");
  EXPECT_EQ((*rows)[3].initial_default, "5");
  EXPECT_EQ((*rows)[1].initial_default, std::nullopt);
}

TEST(ColumnRows, refuses_a_default_inside_a_struct_by_the_columns_name) {
  model::Field inner = field(2, "inner", Type(TypeKind::kInt));
  inner.write_default = model::Literal(std::int32_t{1});
  auto rows = column_rows({.fields = {field(1, "s", Type::structure({inner}))}});
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().kind(), base::ErrorKind::kUnsupported);
  EXPECT_NE(rows.error().message().find("inner"), std::string::npos);
}

TEST(ColumnRows, refuses_a_type_that_the_lake_does_not_have_by_the_columns_name) {
  auto rows = column_rows({.fields = {field(1, "odd", Type(TypeKind::kUnknown))}});
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().kind(), base::ErrorKind::kUnsupported);
  EXPECT_NE(rows.error().message().find("odd"), std::string::npos);
}

TEST(ColumnRows, refuses_what_has_no_columns_and_structs_without_fields) {
  const Type empty = Type::structure({});
  const struct {
    model::Schema schema;
    const char* named;
  } cases[] = {{{}, "without columns"},
               {{.fields = {field(1, "hollow", empty)}}, "hollow"},
               {{.fields = {field(1, "s", Type::structure({field(2, "inner", empty)}))}}, "inner"},
               {{.fields = {field(1, "l", Type::list(2, empty, false))}}, "element"}};
  for (const auto& [schema, named] : cases) {
    auto rows = column_rows(schema);
    ASSERT_FALSE(rows) << named;
    EXPECT_EQ(rows.error().kind(), base::ErrorKind::kUnsupported) << named;
    EXPECT_NE(rows.error().message().find(named), std::string::npos) << rows.error().message();
  }
}

struct Case {
  const char* name;
  Rows current;
  Rows wanted;
  std::vector<std::int64_t> ended;
  Rows begun;
};

TEST(ColumnRows, only_what_differs_ends_and_begins) {
  auto optional = row(1, 1, "a"), required = optional;
  required.nulls_allowed = false;
  auto part = row(2, 2, "x", "int32", 1), part_by_duckdb = part, renamed = part;
  part_by_duckdb.nulls_allowed = renamed.nulls_allowed = false;
  renamed.name = "y";
  const Case cases[] = {
      {"unchanged", {row(1, 1, "a"), row(2, 2, "b")}, {row(1, 1, "a"), row(2, 2, "b")}, {}, {}},
      {"gaps_in_the_order_stay",
       {row(1, 3, "a"), row(2, 8, "b")},
       {row(1, 1, "a"), row(2, 2, "b")},
       {},
       {}},
      {"add", {row(1, 4, "a")}, {row(1, 1, "a"), row(2, 2, "b")}, {}, {row(2, 5, "b")}},
      {"add_first",
       {row(1, 1, "a")},
       {row(2, 1, "b"), row(1, 2, "a")},
       {1},
       {row(2, 2, "b"), row(1, 3, "a")}},
      {"drop", {row(1, 1, "a"), row(2, 2, "b")}, {row(2, 1, "b")}, {1}, {}},
      {"drop_nested",
       {row(1, 1, "s", "struct"), row(2, 2, "x", "int32", 1), row(3, 3, "y", "int32", 1)},
       {row(1, 1, "s", "struct"), row(3, 2, "y", "int32", 1)},
       {2},
       {}},
      {"rename",
       {row(1, 1, "a"), row(2, 2, "b")},
       {row(1, 1, "z"), row(2, 2, "b")},
       {1},
       {row(1, 1, "z")}},
      {"swap_names",
       {row(1, 1, "a"), row(2, 2, "b")},
       {row(1, 1, "b"), row(2, 2, "a")},
       {1, 2},
       {row(1, 1, "b"), row(2, 2, "a")}},
      {"reorder",
       {row(1, 1, "a"), row(2, 2, "b")},
       {row(2, 1, "b"), row(1, 2, "a")},
       {1},
       {row(1, 3, "a")}},
      {"widen", {row(1, 1, "a")}, {row(1, 1, "a", "int64")}, {1}, {row(1, 1, "a", "int64")}},
      {"make_optional", {required}, {optional}, {1}, {optional}},
      {"part_of_a_struct_that_duckdb_added",
       {row(1, 1, "s", "struct"), part_by_duckdb},
       {row(1, 1, "s", "struct"), part},
       {},
       {}},
      {"it_is_renamed",
       {row(1, 1, "s", "struct"), part_by_duckdb},
       {row(1, 1, "s", "struct"), row(2, 2, "y", "int32", 1)},
       {2},
       {renamed}},
      {"int8_stays", {row(1, 1, "a", "int8")}, {row(1, 1, "a")}, {}, {}},
      {"int8_is_renamed_as_one",
       {row(1, 1, "a", "int8")},
       {row(1, 1, "b")},
       {1},
       {row(1, 1, "b", "int8")}},
      {"int8_is_widened",
       {row(1, 1, "a", "int8")},
       {row(1, 1, "a", "int64")},
       {1},
       {row(1, 1, "a", "int64")}},
      {"element",
       {row(1, 1, "l", "list"), row(2, 2, "element", "int32", 1)},
       {row(1, 1, "l", "list"), row(2, 2, "element", "int64", 1)},
       {2},
       {row(2, 2, "element", "int64", 1)}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    ColumnDiff diff = diff_columns(c.current, c.wanted, {});
    EXPECT_EQ(diff.ended, c.ended);
    EXPECT_EQ(diff.begun, c.begun);
  }
}

// What DuckDB keeps of small inserts is of these types.
TEST(ColumnRows, what_a_table_has_after_a_change_has_the_lakes_own_types) {
  const ColumnRow held = row(1, 1, "a", "interval");
  const ColumnRow added = row(2, 2, "b");
  const auto diff = diff_columns({held}, {row(1, 1, "a", "varchar"), added}, {});
  EXPECT_EQ(diff.begun, std::vector{added});
  EXPECT_EQ(diff.after, (std::vector{held, added}));
}

TEST(ColumnRows, not_null_stays_where_a_client_leaves_the_column_as_it_was_shown) {
  ColumnRow held = row(1, 1, "a");
  held.nulls_allowed = false;
  ColumnRow renamed = held;
  renamed.name = "b";
  auto shown = [](bool required) {
    return model::Schema{.fields = {{.id = 1,
                                     .name = "a",
                                     .type = model::Type(model::TypeKind::kInt),
                                     .required = required}}};
  };
  // It is optional to clients: a file that DuckDB added holds NULL there.
  EXPECT_TRUE(diff_columns({held}, {row(1, 1, "a")}, shown(false)).empty());
  EXPECT_EQ(diff_columns({held}, {row(1, 1, "b")}, shown(false)).begun, std::vector{renamed});
  EXPECT_EQ(diff_columns({held}, {row(1, 1, "a")}, shown(true)).begun, std::vector{row(1, 1, "a")});
}

TEST(ColumnRows, every_lake_type_stays_while_it_shows_as_the_same) {
  for (const char* type :
       {"boolean",      "int8",        "int16",       "int32",        "int64",
        "float32",      "float64",     "date",        "time",         "timestamp",
        "timestamp_us", "timestamp_s", "timestamptz", "timestamp_ns", "varchar",
        "json",         "blob",        "uuid",        "decimal(9,2)", "DECIMAL(9, 2)"}) {
    auto shown = iceberg_type(type, {3});
    ASSERT_TRUE(shown) << type;
    auto wanted = lake_type(*shown);
    ASSERT_TRUE(wanted) << type;
    EXPECT_TRUE(same_shown_type(type, *wanted)) << type;
    EXPECT_FALSE(same_shown_type(type, "list")) << type;
  }
  EXPECT_FALSE(same_shown_type("decimal(9,2)", "decimal(10,2)"));
  EXPECT_FALSE(same_shown_type("int128", "int64"));
}

TEST(ColumnRows, small_inserts_get_a_table_only_of_types_that_postgresql_takes) {
  const SchemaSql sql("lk");
  const LakeHead head{.schema_version = 6};
  auto made = make_inlined_table(
      sql, head, 3, {row(1, 1, "a@\"b"), row(2, 2, "s", "struct"), row(3, 3, "x", "varchar", 2)});
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].statement.sql,
            "CREATE TABLE \"lk\".ducklake_inlined_data_3_7 (row_id bigint, begin_snapshot bigint, "
            "end_snapshot bigint, \"a@\"\"b\" integer, \"s\" varchar)");
  EXPECT_TRUE(make_inlined_table(sql, head, 3, {row(1, 1, "v", "variant")}).empty());
  EXPECT_TRUE(
      make_inlined_table(sql, head, 3, {row(1, 1, "s", "struct"), row(2, 2, "g", "geometry", 1)})
          .empty());
  EXPECT_TRUE(make_inlined_table(sql, head, 3, {row(1, 1, std::string(64, 'n').c_str())}).empty());
  EXPECT_FALSE(make_inlined_table(sql, head, 3, {row(1, 1, std::string(63, 'n').c_str())}).empty());
}

TEST(ColumnRows, the_format_says_which_names_are_reserved) {
  const SchemaSql sql("lk");
  const LakeHead old{.schema_version = 6};
  const LakeHead head{.schema_version = 6, .format = model::LakeFormat::k1_1};
  for (const char* name : {"row_id", "begin_snapshot", "end_snapshot"}) {
    EXPECT_TRUE(make_inlined_table(sql, old, 3, {row(1, 1, name)}).empty()) << name;
    EXPECT_FALSE(make_inlined_table(sql, head, 3, {row(1, 1, name)}).empty()) << name;
  }
  EXPECT_EQ(make_inlined_table(sql, head, 3, {row(1, 1, "row_id")})[0].statement.sql,
            "CREATE TABLE \"lk\".ducklake_inlined_data_3_7 (_ducklake_row_id bigint, "
            "_ducklake_begin_snapshot bigint, _ducklake_end_snapshot bigint, \"row_id\" integer)");
  const std::vector<ColumnRow> reserved{row(1, 1, "_DuckLake_x")};
  EXPECT_TRUE(make_inlined_table(sql, head, 3, reserved).empty());
  EXPECT_FALSE(make_inlined_table(sql, old, 3, reserved).empty());
  EXPECT_TRUE(check_names(reserved, nullptr, old.format));
  EXPECT_EQ(check_names(reserved, nullptr, head.format).error().kind(), base::ErrorKind::kInvalid);
  EXPECT_TRUE(check_names({row(1, 1, "_duck"), row(2, 2, "_ducklake_in", "int32", 1)}, nullptr,
                          head.format));
  model::Schema before;
  before.fields = {{.id = 1, .name = "_DuckLake_x", .type = model::Type(model::TypeKind::kLong)}};
  EXPECT_TRUE(check_names(reserved, &before, head.format)) << "it has the name already";
  EXPECT_FALSE(check_names({row(1, 1, "_ducklake_y")}, &before, head.format));
}

}  // namespace
}  // namespace lake::ducklake
