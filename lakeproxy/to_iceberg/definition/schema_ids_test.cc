#include "lakeproxy/to_iceberg/definition/schema_ids.h"

#include <gtest/gtest.h>

#include "lakeproxy/to_iceberg/definition/old_files.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using model::Field;
using model::Schema;
using model::SnapshotId;
using model::Type;
using model::TypeKind;

LakeColumn column(model::FieldId id, std::string name, std::string type, std::int64_t begin,
                  std::optional<std::int64_t> end = std::nullopt) {
  LakeColumn row{.id = id,
                 .begin = SnapshotId(begin),
                 .order = id,
                 .name = std::move(name),
                 .type = std::move(type)};
  if (end) row.end = SnapshotId(*end);
  return row;
}

LakeColumn part(LakeColumn row, model::FieldId parent) {
  row.parent = parent;
  return row;
}

Field field(model::FieldId id, std::string name, Type type) {
  return {.id = id, .name = std::move(name), .type = std::move(type)};
}

base::Result<AssignedIds> assigned(const LakeColumns& columns, AssignedIds ids = {}) {
  RETURN_IF_ERROR(assign_schemas(columns, ids));
  return ids;
}

std::map<std::int64_t, std::int32_t> ids_at(const AssignedIds& history) {
  std::map<std::int64_t, std::int32_t> ids;
  for (const auto& [at, id] : history.schema_at) ids.emplace(at.value, id);
  return ids;
}

std::int32_t current(const AssignedIds& ids) { return ids.schema_at.rbegin()->second; }

const Type kInt(TypeKind::kInt);
const Type kString(TypeKind::kString);

TEST(SchemaIds, each_change_by_duckdb_is_a_schema) {
  LakeColumns columns{.columns = {column(1, "i", "int32", 3, 9), column(1, "i", "int64", 9),
                                  column(2, "s", "varchar", 3), column(3, "d", "date", 5, 9)}};
  auto history = assigned(columns);
  ASSERT_TRUE(history);
  EXPECT_EQ(ids_at(*history), (std::map<std::int64_t, std::int32_t>{{3, 0}, {5, 1}, {9, 2}}));
  EXPECT_EQ(current(*history), 2);
  ASSERT_EQ(history->schemas.size(), 3);
  EXPECT_EQ(history->schemas.at(0).fields,
            (std::vector<Field>{field(1, "i", kInt), field(2, "s", kString)}));
  EXPECT_EQ(history->schemas.at(2).fields[0].type, Type(TypeKind::kLong));
  EXPECT_TRUE(old_file_rules(columns).empty());
}

TEST(SchemaIds, equal_columns_share_an_id) {
  LakeColumns columns{.columns = {column(1, "a", "int32", 1, 2), column(1, "b", "int32", 2, 3),
                                  column(1, "a", "int32", 3)}};
  auto history = assigned(columns);
  ASSERT_TRUE(history);
  EXPECT_EQ(ids_at(*history), (std::map<std::int64_t, std::int32_t>{{1, 0}, {2, 1}, {3, 0}}));
  EXPECT_EQ(history->schemas.size(), 2);
}

TEST(SchemaIds, what_a_client_stored_counts_and_gives_what_the_lake_cannot_hold) {
  LakeColumns columns{.columns = {column(1, "k", "blob", 1), column(2, "s", "varchar", 1),
                                  column(3, "n", "int32", 4)}};
  columns.columns[0].nulls_allowed = false;
  Field key = field(1, "k", Type::fixed(16));
  key.required = true;
  key.doc = "the key";
  AssignedIds ids;
  const Schema given{.fields = {key, field(2, "s", kString)}, .identifier_field_ids = {1}};
  ids.schemas[0] = given;
  ids.schema_at[SnapshotId(1)] = 0;
  auto history = assigned(columns, ids);
  ASSERT_TRUE(history);
  EXPECT_EQ(ids_at(*history), (std::map<std::int64_t, std::int32_t>{{1, 0}, {4, 1}}));
  EXPECT_EQ(history->schemas.at(0), given);
  // DuckDB's later change keeps it.
  EXPECT_EQ(history->schemas.at(1).fields[0], key);
  EXPECT_EQ(history->schemas.at(1).identifier_field_ids, given.identifier_field_ids);
  EXPECT_EQ(history->schemas.at(1).fields.size(), 3);
}

// Of "a" (not null) and "b", which is renamed at 7.
LakeColumns with_not_null() {
  LakeColumns columns{.columns = {column(1, "a", "int32", 1), column(2, "b", "int32", 1, 7),
                                  column(2, "c", "int32", 7)}};
  columns.columns[0].nulls_allowed = false;
  return columns;
}

TEST(AllowNulls, a_column_is_optional_from_there_on_and_required_before) {
  AssignedIds ids = assigned(with_not_null()).value();
  ids.schemas.at(1).identifier_field_ids = {1};
  const AssignedIds before = ids;
  allow_nulls({{1, SnapshotId(5)}}, ids);
  EXPECT_EQ(ids_at(ids), (std::map<std::int64_t, std::int32_t>{{1, 0}, {5, 2}, {7, 3}}));
  for (std::int32_t known : {0, 1}) EXPECT_EQ(ids.schemas.at(known), before.schemas.at(known));
  for (std::int32_t made : {2, 3}) EXPECT_FALSE(ids.schemas.at(made).fields[0].required) << made;
  EXPECT_EQ(ids.schemas.at(3).fields[1].name, "c");
  EXPECT_TRUE(ids.schemas.at(3).identifier_field_ids.empty()) << "those are required";
  const AssignedIds once = ids;
  allow_nulls({{1, SnapshotId(5)}}, ids);
  EXPECT_EQ(ids, once);
}

TEST(AllowNulls, parts_become_optional_in_their_place) {
  using model::Field;
  using model::Type;
  using model::TypeKind;
  const Type number(TypeKind::kInt);
  const Field x{.id = 2, .name = "x", .type = number, .required = true};
  const Field y{.id = 3, .name = "y", .type = number, .required = true};
  model::Schema schema{
      .schema_id = 0,
      .fields = {{.id = 1, .name = "s", .type = Type::structure({x, y}), .required = true},
                 {.id = 4, .name = "l", .type = Type::list(5, number, true)},
                 {.id = 6, .name = "m", .type = Type::map(7, number, 8, number, true)}}};
  schema.identifier_field_ids = {2, 3};
  AssignedIds ids;
  ids.schemas.emplace(0, schema);
  ids.schema_at[SnapshotId(1)] = 0;
  allow_nulls({{2, SnapshotId(4)}, {5, SnapshotId(4)}, {8, SnapshotId(4)}}, ids);
  EXPECT_EQ(ids_at(ids), (std::map<std::int64_t, std::int32_t>{{1, 0}, {4, 1}}));
  const model::Schema& made = ids.schemas.at(1);
  EXPECT_EQ(made.identifier_field_ids, std::vector<model::FieldId>{3});
  for (int id = 1; id <= 8; ++id) {
    const bool stays = id == 1 || id == 3 || id == 7;
    EXPECT_EQ(made.find(id)->required, stays) << id;
  }
}

TEST(AllowNulls, it_stays_so_while_the_lake_has_the_same_not_null) {
  LakeColumns columns = with_not_null();
  AssignedIds ids = assigned(columns).value();
  allow_nulls({{1, SnapshotId(7)}}, ids);
  columns.columns.push_back(column(3, "d", "int32", 9));
  ids = assigned(columns, ids).value();
  EXPECT_FALSE(ids.schemas.at(current(ids)).fields[0].required);
  EXPECT_EQ(not_null_in_lake(columns, SnapshotId(9), ids.schemas.at(current(ids))),
            std::set<model::FieldId>{1});
  // DROP NOT NULL, and a SET NOT NULL, which looks for NULLs.
  columns.columns[0].end = SnapshotId(11);
  columns.columns.push_back(column(1, "a", "int32", 11, 13));
  columns.columns.push_back(column(1, "a", "int32", 13));
  columns.columns.back().nulls_allowed = false;
  ids = assigned(columns, ids).value();
  EXPECT_EQ(ids.schema_at.at(SnapshotId(11)), ids.schema_at.at(SnapshotId(9)));
  EXPECT_TRUE(ids.schemas.at(current(ids)).fields[0].required);
  EXPECT_TRUE(not_null_in_lake(columns, SnapshotId(13), ids.schemas.at(current(ids))).empty());
}

TEST(SchemaIds, comments_are_docs) {
  LakeColumns columns{
      .columns = {column(1, "a", "int32", 1)},
      .docs = {{.column_id = 1, .begin = SnapshotId(2), .end = SnapshotId(4), .text = "first"}}};
  auto history = assigned(columns);
  ASSERT_TRUE(history);
  EXPECT_EQ(ids_at(*history), (std::map<std::int64_t, std::int32_t>{{1, 0}, {2, 1}, {4, 0}}));
  EXPECT_EQ(history->schemas.at(1).fields[0].doc, "first");
}

TEST(SchemaIds, nested_parts_are_optional_whatever_the_lake_says) {
  LakeColumns columns{.columns = {column(1, "x", "struct", 1), part(column(2, "a", "int32", 1), 1),
                                  column(3, "l", "list", 1),
                                  part(column(4, "element", "varchar", 1), 3),
                                  column(5, "m", "map", 1), part(column(6, "key", "varchar", 1), 5),
                                  part(column(7, "value", "int32", 1), 5)}};
  columns.columns[1].nulls_allowed = false;
  auto history = assigned(columns);
  ASSERT_TRUE(history);
  EXPECT_EQ(history->schemas.at(0).fields,
            (std::vector<Field>{field(1, "x", Type::structure({field(2, "a", kInt)})),
                                field(3, "l", Type::list(4, kString, false)),
                                field(5, "m", Type::map(6, kString, 7, kInt, false))}));
}

TEST(SchemaIds, refuses_a_living_column_that_cannot_be_shown) {
  LakeColumns columns{
      .columns = {column(1, "x", "struct", 1), part(column(2, "h", "interval", 1), 1)}};
  auto history = assigned(columns);
  ASSERT_FALSE(history);
  EXPECT_EQ(history.error().kind(), ErrorKind::kUnsupported);
  EXPECT_NE(history.error().message().find("x.h"), std::string::npos);
}

TEST(SchemaIds, leaves_a_gone_column_out_that_cannot_be_shown) {
  LakeColumns columns{.columns = {column(1, "i", "int32", 1), column(2, "h", "interval", 1, 4)}};
  auto history = assigned(columns);
  ASSERT_TRUE(history);
  EXPECT_EQ(ids_at(*history), (std::map<std::int64_t, std::int32_t>{{1, 0}, {4, 0}}));
}

TEST(SchemaIds, an_added_default_forbids_older_files_in_format_version_2) {
  LakeColumns columns{.columns = {column(1, "i", "int32", 1), column(2, "z", "int32", 5)}};
  columns.columns[1].initial_default = "5";
  auto history = assigned(columns);
  ASSERT_TRUE(history);
  ASSERT_EQ(old_file_rules(columns).size(), 1);
  EXPECT_EQ(old_file_rules(columns)[0].before, SnapshotId(5));
  EXPECT_NE(old_file_rules(columns)[0].message.find("'z'"), std::string::npos);

  columns.format_version = 3;
  history = assigned(columns);
  ASSERT_TRUE(history);
  EXPECT_TRUE(old_file_rules(columns).empty());
  EXPECT_EQ(history->schemas.at(1).fields[1].initial_default, model::Literal(std::int32_t{5}));

  columns.columns[1].end = SnapshotId(7);
  columns.format_version = 2;
  history = assigned(columns);
  ASSERT_TRUE(history);
  ASSERT_EQ(old_file_rules(columns).size(), 1) << "older snapshots have the column";
  EXPECT_EQ(old_file_rules(columns)[0].until, SnapshotId(7));
}

TEST(SchemaIds, a_change_of_type_that_readers_cannot_follow_forbids_older_files) {
  for (const auto& [from, to, allowed] :
       std::vector<std::tuple<const char*, const char*, bool>>{{"int32", "int64", true},
                                                               {"float32", "float64", true},
                                                               {"uint32", "int64", false},
                                                               {"int32", "varchar", false},
                                                               {"date", "timestamp", false}}) {
    LakeColumns columns{
        .columns = {column(1, "i", from, 1, 4), column(1, "i", to, 4), column(2, "k", "int32", 1)}};
    auto history = assigned(columns);
    ASSERT_TRUE(history) << from;
    EXPECT_EQ(old_file_rules(columns).empty(), allowed) << from << " to " << to;
  }
}

TEST(SchemaIds, broken_rows_are_corrupt) {
  const std::vector<LakeColumns> cases = {
      {},
      {.columns = {column(1, "l", "list", 1)}},
      {.columns = {column(1, "m", "map", 1), part(column(2, "key", "int32", 1), 1)}},
  };
  for (const LakeColumns& columns : cases) {
    auto history = assigned(columns);
    ASSERT_FALSE(history);
    EXPECT_EQ(history.error().kind(), ErrorKind::kCorrupt);
  }
}

TEST(SchemaIds, nesting_is_bounded) {
  for (int depth : {64, 65}) {
    LakeColumns columns;
    for (int i = 1; i <= depth; ++i) {
      LakeColumn row = column(i, "c", i == depth ? "int32" : "struct", 1);
      columns.columns.push_back(i == 1 ? row : part(row, i - 1));
    }
    EXPECT_EQ(assigned(columns).has_value(), depth == 64);
  }
}

AssignedIds stored(const LakeColumns& columns) {
  auto ids = assigned(columns);
  EXPECT_TRUE(ids);
  return ids ? *ids : AssignedIds{};
}

TEST(SchemaIds, what_is_stored_stays_when_the_lake_forgets_how_it_came) {
  LakeColumns columns{.columns = {column(1, "a", "int32", 1, 5), column(1, "b", "int32", 5, 7),
                                  column(1, "c", "int32", 7), column(2, "gone", "int32", 1, 5)}};
  const AssignedIds before = stored(columns);
  EXPECT_EQ(current(before), 2);
  // The rows that a load reads: what counts at the newest stored snapshot, and later.
  const LakeColumns newest{.columns = {column(1, "c", "int32", 7)}};
  auto after = assigned(newest, before);
  ASSERT_TRUE(after);
  EXPECT_EQ(*after, before);
}

TEST(SchemaIds, the_next_change_gets_the_next_id_and_an_equal_one_the_id_it_had) {
  const AssignedIds before =
      stored({.columns = {column(1, "a", "int32", 1, 5), column(1, "b", "int32", 5)}});
  LakeColumns columns{.columns = {column(1, "b", "int32", 5, 7), column(1, "c", "int32", 7)}};
  auto after = assigned(columns, before);
  ASSERT_TRUE(after);
  EXPECT_EQ(ids_at(*after), (std::map<std::int64_t, std::int32_t>{{1, 0}, {5, 1}, {7, 2}}));
  columns = {.columns = {column(1, "c", "int32", 7, 8), column(1, "a", "int32", 8)}};
  after = assigned(columns, *after);
  ASSERT_TRUE(after);
  EXPECT_EQ(current(*after), 0);
  EXPECT_EQ(after->schemas.size(), 3);
}

TEST(SchemaIds, a_schema_that_was_only_added_keeps_its_id_and_is_taken_up_by_it) {
  AssignedIds ids = stored({.columns = {column(1, "a", "int32", 1)}});
  ids.schemas[4] = {.schema_id = 4, .fields = {field(1, "z", kInt)}};
  LakeColumns columns{.columns = {column(1, "a", "int32", 1, 6), column(1, "y", "int32", 6)}};
  auto after = assigned(columns, ids);
  ASSERT_TRUE(after);
  EXPECT_EQ(current(*after), 5) << "4 is another's";
  columns.columns[1].name = "z";
  after = assigned(columns, ids);
  ASSERT_TRUE(after);
  EXPECT_EQ(current(*after), 4);
  EXPECT_EQ(after->schemas.size(), 2);
}

TEST(SchemaIds, a_column_that_cannot_be_shown_any_more_stays_where_it_was_shown) {
  const AssignedIds before =
      stored({.columns = {column(1, "i", "int32", 1), column(2, "h", "int32", 1)}});
  const LakeColumns columns{.columns = {column(1, "i", "int32", 1), column(2, "h", "int32", 1, 4),
                                        column(2, "h", "interval", 4, 6)}};
  auto after = assigned(columns, before);
  ASSERT_TRUE(after);
  EXPECT_EQ(ids_at(*after), (std::map<std::int64_t, std::int32_t>{{1, 0}, {4, 1}, {6, 1}}));
  EXPECT_EQ(after->schemas.at(0), before.schemas.at(0));
}

// A client's change without a change of columns makes no lake snapshot: it stands under
// the number that the next one of DuckDB's then has.
TEST(SchemaIds, duckdbs_snapshot_goes_before_what_a_client_set_under_its_number) {
  AssignedIds ids = stored({.columns = {column(1, "a", "int32", 1)}});
  ids.schemas[1] = {.schema_id = 1, .fields = {field(1, "a", kInt)}};
  ids.schemas[1].fields[0].doc = "the client's";
  ids.schema_at[SnapshotId(7)] = 1;
  LakeColumns columns{.columns = {column(1, "a", "int32", 1)}};
  auto after = assigned(columns, ids);
  ASSERT_TRUE(after);
  EXPECT_EQ(*after, ids) << "DuckDB did nothing";
  columns.columns.push_back(column(2, "b", "int32", 7));
  after = assigned(columns, ids);
  ASSERT_TRUE(after);
  EXPECT_EQ(ids_at(*after), (std::map<std::int64_t, std::int32_t>{{1, 0}, {7, 2}}));
  EXPECT_EQ(after->schemas.at(2).fields[0].doc, "the client's");
  EXPECT_EQ(after->schemas.at(1), ids.schemas.at(1));
}

TEST(SchemaIds, ids_survive_the_upgrade_to_version_3) {
  LakeColumns columns{.columns = {column(1, "i", "int32", 1), column(2, "z", "int32", 5)}};
  columns.columns[1].initial_default = "5";
  const AssignedIds before = stored(columns);
  columns.format_version = 3;
  auto after = assigned(columns, before);
  ASSERT_TRUE(after);
  EXPECT_EQ(*after, before);
  // What a client of version 2 gave has no default, which readers of version 3 need.
  AssignedIds plain = before;
  for (auto& [id, schema] : plain.schemas) schema.fields = without_defaults(schema.fields);
  after = assigned(columns, plain);
  ASSERT_TRUE(after);
  EXPECT_EQ(current(*after), 2);
  EXPECT_EQ(after->schemas.at(1), plain.schemas.at(1));
  columns.format_version = 2;
  after = assigned(columns, plain);
  ASSERT_TRUE(after);
  EXPECT_EQ(*after, plain);
}

TEST(SchemaIds, a_default_alone_is_a_schema_only_where_it_is_shown) {
  LakeColumns columns{.columns = {column(1, "i", "int32", 1, 5), column(1, "i", "int32", 5)}};
  columns.columns[1].default_value = "5";
  const AssignedIds before = stored(columns);
  EXPECT_EQ(ids_at(before), (std::map<std::int64_t, std::int32_t>{{1, 0}, {5, 0}}));
  columns.format_version = 3;
  auto after = assigned(columns, before);
  ASSERT_TRUE(after);
  EXPECT_EQ(ids_at(*after), (std::map<std::int64_t, std::int32_t>{{1, 0}, {5, 1}}));
  EXPECT_EQ(after->schemas.at(0), before.schemas.at(0));
  EXPECT_EQ(after->schemas.at(1).fields[0].write_default, model::Literal(std::int32_t{5}));
}

}  // namespace
}  // namespace lake::ducklake
