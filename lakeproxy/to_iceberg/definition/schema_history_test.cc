#include "lakeproxy/to_iceberg/definition/schema_history.h"

#include <gtest/gtest.h>

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

ClientSchema client(std::int32_t id, std::int64_t begin, std::vector<Field> fields,
                    bool is_current = true) {
  return {.begin = SnapshotId(begin),
          .is_current = is_current,
          .schema = {.schema_id = id, .fields = std::move(fields)}};
}

std::map<std::int64_t, std::int32_t> ids_at(const SchemaHistory& history) {
  std::map<std::int64_t, std::int32_t> ids;
  for (const auto& [at, id] : history.schema_at) ids.emplace(at.value, id);
  return ids;
}

const Type kInt(TypeKind::kInt);
const Type kString(TypeKind::kString);

TEST(SchemaHistory, each_change_by_duckdb_is_a_schema) {
  LakeColumns columns{.columns = {column(1, "i", "int32", 3, 9), column(1, "i", "int64", 9),
                                  column(2, "s", "varchar", 3), column(3, "d", "date", 5, 9)}};
  auto history = schema_history(columns, {});
  ASSERT_TRUE(history);
  EXPECT_EQ(ids_at(*history), (std::map<std::int64_t, std::int32_t>{{3, 0}, {5, 1}, {9, 2}}));
  EXPECT_EQ(history->current_schema_id, 2);
  EXPECT_EQ(history->last_column_id, 3);
  ASSERT_EQ(history->schemas.size(), 3);
  EXPECT_EQ(history->schemas[0].fields,
            (std::vector<Field>{field(1, "i", kInt), field(2, "s", kString)}));
  EXPECT_EQ(history->schemas[2].fields[0].type, Type(TypeKind::kLong));
  EXPECT_TRUE(history->old_file_rules.empty());
}

TEST(SchemaHistory, equal_columns_share_an_id) {
  LakeColumns columns{.columns = {column(1, "a", "int32", 1, 2), column(1, "b", "int32", 2, 3),
                                  column(1, "a", "int32", 3)}};
  auto history = schema_history(columns, {});
  ASSERT_TRUE(history);
  EXPECT_EQ(ids_at(*history), (std::map<std::int64_t, std::int32_t>{{1, 0}, {2, 1}, {3, 0}}));
  EXPECT_EQ(history->schemas.size(), 2);
}

TEST(SchemaHistory, a_clients_row_gives_the_id_and_what_the_lake_cannot_hold) {
  LakeColumns columns{.columns = {column(1, "k", "blob", 1), column(2, "s", "varchar", 1),
                                  column(3, "n", "int32", 4)}};
  columns.columns[0].nulls_allowed = false;
  Field key = field(1, "k", Type::fixed(16));
  key.required = true;
  key.doc = "the key";
  ClientSchema given = client(0, 1, {key, field(2, "s", kString)});
  given.schema.identifier_field_ids = {1};
  auto history = schema_history(columns, {given});
  ASSERT_TRUE(history);
  EXPECT_EQ(ids_at(*history), (std::map<std::int64_t, std::int32_t>{{1, 0}, {4, 1}}));
  EXPECT_EQ(history->schemas[0], given.schema);
  // DuckDB's later change keeps it.
  EXPECT_EQ(history->schemas[1].fields[0], key);
  EXPECT_EQ(history->schemas[1].identifier_field_ids, given.schema.identifier_field_ids);
  EXPECT_EQ(history->schemas[1].fields.size(), 3);
}

TEST(SchemaHistory, a_clients_row_that_is_not_the_lakes_is_only_listed) {
  LakeColumns columns{.columns = {column(1, "a", "int32", 1)}};
  auto history = schema_history(columns, {client(0, 1, {field(1, "other", kInt)})});
  ASSERT_TRUE(history);
  EXPECT_EQ(history->current_schema_id, 1);
  ASSERT_EQ(history->schemas.size(), 2);
  EXPECT_EQ(history->schemas[1].fields[0].name, "a");
}

TEST(SchemaHistory, schemas_that_were_never_current_are_listed_at_their_place) {
  LakeColumns columns{.columns = {column(1, "a", "int32", 1), column(2, "b", "int32", 6)}};
  auto history = schema_history(
      columns, {client(0, 1, {field(1, "a", kInt)}), client(1, 3, {field(1, "z", kInt)}, false),
                client(7, 9, {field(1, "y", kInt)}, false)});
  ASSERT_TRUE(history);
  std::vector<std::int32_t> listed;
  for (const Schema& schema : history->schemas) listed.push_back(schema.schema_id);
  EXPECT_EQ(listed, (std::vector<std::int32_t>{0, 1, 2, 7}));
  EXPECT_EQ(history->current_schema_id, 2);
}

TEST(SchemaHistory, a_schema_set_again_keeps_its_id_before) {
  // Row 0 moved to snapshot 9 when a client set it current once more.
  LakeColumns columns{.columns = {column(1, "a", "int32", 1), column(2, "b", "int32", 5, 9)}};
  auto history =
      schema_history(columns, {client(0, 9, {field(1, "a", kInt)}),
                               client(1, 5, {field(1, "a", kInt), field(2, "b", kInt)})});
  ASSERT_TRUE(history);
  EXPECT_EQ(ids_at(*history), (std::map<std::int64_t, std::int32_t>{{1, 0}, {5, 1}, {9, 0}}));
  EXPECT_EQ(history->schemas.size(), 2);
}

TEST(SchemaHistory, comments_are_docs) {
  LakeColumns columns{
      .columns = {column(1, "a", "int32", 1)},
      .docs = {{.column_id = 1, .begin = SnapshotId(2), .end = SnapshotId(4), .text = "first"}}};
  auto history = schema_history(columns, {});
  ASSERT_TRUE(history);
  EXPECT_EQ(ids_at(*history), (std::map<std::int64_t, std::int32_t>{{1, 0}, {2, 1}, {4, 0}}));
  EXPECT_EQ(history->schemas[1].fields[0].doc, "first");
}

TEST(SchemaHistory, nested_parts_are_optional_whatever_the_lake_says) {
  LakeColumns columns{.columns = {column(1, "x", "struct", 1), part(column(2, "a", "int32", 1), 1),
                                  column(3, "l", "list", 1),
                                  part(column(4, "element", "varchar", 1), 3),
                                  column(5, "m", "map", 1), part(column(6, "key", "varchar", 1), 5),
                                  part(column(7, "value", "int32", 1), 5)}};
  columns.columns[1].nulls_allowed = false;
  auto history = schema_history(columns, {});
  ASSERT_TRUE(history);
  EXPECT_EQ(history->schemas[0].fields,
            (std::vector<Field>{field(1, "x", Type::structure({field(2, "a", kInt)})),
                                field(3, "l", Type::list(4, kString, false)),
                                field(5, "m", Type::map(6, kString, 7, kInt, false))}));
}

TEST(SchemaHistory, refuses_a_living_column_that_cannot_be_shown) {
  LakeColumns columns{
      .columns = {column(1, "x", "struct", 1), part(column(2, "h", "int128", 1), 1)}};
  auto history = schema_history(columns, {});
  ASSERT_FALSE(history);
  EXPECT_EQ(history.error().kind(), ErrorKind::kUnsupported);
  EXPECT_NE(history.error().message().find("x.h"), std::string::npos);
}

TEST(SchemaHistory, leaves_a_gone_column_out_that_cannot_be_shown) {
  LakeColumns columns{.columns = {column(1, "i", "int32", 1), column(2, "h", "int128", 1, 4)}};
  auto history = schema_history(columns, {});
  ASSERT_TRUE(history);
  EXPECT_EQ(ids_at(*history), (std::map<std::int64_t, std::int32_t>{{1, 0}, {4, 0}}));
}

TEST(SchemaHistory, an_added_default_forbids_older_files_in_format_version_2) {
  LakeColumns columns{.columns = {column(1, "i", "int32", 1), column(2, "z", "int32", 5)}};
  columns.columns[1].initial_default = "5";
  auto history = schema_history(columns, {});
  ASSERT_TRUE(history);
  ASSERT_EQ(history->old_file_rules.size(), 1);
  EXPECT_EQ(history->old_file_rules[0].before, SnapshotId(5));
  EXPECT_NE(history->old_file_rules[0].message.find("'z'"), std::string::npos);

  columns.format_version = 3;
  history = schema_history(columns, {});
  ASSERT_TRUE(history);
  EXPECT_TRUE(history->old_file_rules.empty());
  EXPECT_EQ(history->schemas[1].fields[1].initial_default, model::Literal(std::int32_t{5}));

  columns.columns[1].end = SnapshotId(7);
  columns.format_version = 2;
  history = schema_history(columns, {});
  ASSERT_TRUE(history);
  ASSERT_EQ(history->old_file_rules.size(), 1) << "older snapshots have the column";
  EXPECT_EQ(history->old_file_rules[0].until, SnapshotId(7));
}

TEST(SchemaHistory, a_change_of_type_that_readers_cannot_follow_forbids_older_files) {
  for (const auto& [from, to, allowed] :
       std::vector<std::tuple<const char*, const char*, bool>>{{"int32", "int64", true},
                                                               {"float32", "float64", true},
                                                               {"uint32", "int64", false},
                                                               {"int32", "varchar", false},
                                                               {"date", "timestamp", false}}) {
    LakeColumns columns{
        .columns = {column(1, "i", from, 1, 4), column(1, "i", to, 4), column(2, "k", "int32", 1)}};
    auto history = schema_history(columns, {});
    ASSERT_TRUE(history) << from;
    EXPECT_EQ(history->old_file_rules.empty(), allowed) << from << " to " << to;
  }
}

TEST(SchemaHistory, broken_rows_are_corrupt) {
  const std::vector<LakeColumns> cases = {
      {},
      {.columns = {column(1, "l", "list", 1)}},
      {.columns = {column(1, "m", "map", 1), part(column(2, "key", "int32", 1), 1)}},
  };
  for (const LakeColumns& columns : cases) {
    auto history = schema_history(columns, {});
    ASSERT_FALSE(history);
    EXPECT_EQ(history.error().kind(), ErrorKind::kCorrupt);
  }
}

TEST(SchemaHistory, nesting_is_bounded) {
  for (int depth : {64, 65}) {
    LakeColumns columns;
    for (int i = 1; i <= depth; ++i) {
      LakeColumn row = column(i, "c", i == depth ? "int32" : "struct", 1);
      columns.columns.push_back(i == 1 ? row : part(row, i - 1));
    }
    EXPECT_EQ(schema_history(columns, {}).has_value(), depth == 64);
  }
}

}  // namespace
}  // namespace lake::ducklake
