// Commits to lakes of DuckLake 1.1, and to lakes that become one meanwhile.

#include "lakeproxy/from_iceberg/write/writer_fixture_test.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using model::Namespace;

class Writer11 : public WriterFixture {
 protected:
  void SetUp() override {
    open();
    if (version() == "1.0") migrate_to_1_1();
  }
  void make(std::vector<std::string> levels) {
    auto lake = writer();
    auto made = run(lake.create_namespace(soon(), Namespace{std::move(levels)}, {}));
    ASSERT_TRUE(made) << made.error().message() << made.error().detail();
  }
  std::string schemas() {
    return ask(
        "SELECT string_agg(schema_name || ':' || coalesce(parent_schema_id::text, ''), ' ' "
        "ORDER BY schema_id) FROM @ducklake_schema WHERE end_snapshot IS NULL");
  }
};

TEST_F(Writer11, nests_schemas) {
  make({"a"});
  EXPECT_EQ(line(), "created_schema:\"a\"");
  make({"a", "q\"x"});
  EXPECT_EQ(line(), "created_schema:\"a\".\"q\"\"x\"");
  make({"a", "q\"x", "c"});
  EXPECT_EQ(line(), "created_schema:\"a\".\"q\"\"x\".\"c\"");
  EXPECT_EQ(schemas(), "main: a: q\"x:1 c:2");
  auto lake = writer();
  EXPECT_EQ(run(lake.create_namespace(soon(), Namespace{{"a", "q\"x"}}, {})).error().kind(),
            ErrorKind::kAlreadyExists);
  EXPECT_EQ(run(lake.create_namespace(soon(), Namespace{{"c", "d"}}, {})).error().reason(),
            kNoSuchNamespace)
      << "c stands under another one";
  auto full = run(lake.drop_namespace(soon(), Namespace{{"a", "q\"x"}}));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().reason(), kNamespaceNotEmpty);
  ASSERT_TRUE(run(lake.drop_namespace(soon(), Namespace{{"a", "q\"x", "c"}})));
  EXPECT_EQ(line(), "dropped_schema:3");
  ASSERT_TRUE(run(lake.drop_namespace(soon(), Namespace{{"a", "q\"x"}})));
  EXPECT_EQ(schemas(), "main: a:");
}

TEST_F(Writer11, a_schema_of_duckdb_keeps_its_parent_from_being_dropped) {
  make({"a"});
  exec("INSERT INTO ducklake_schema VALUES (50, gen_random_uuid(), 1, NULL, 'b', 'b/', true, 1)");
  auto lake = writer();
  auto full = run(lake.drop_namespace(soon(), Namespace{{"a"}}));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().reason(), kNamespaceNotEmpty);
}

TEST_F(Writer11, flat_schemas_of_before_stay_and_get_nested_ones) {
  exec(
      "INSERT INTO ducklake_schema VALUES (50, gen_random_uuid(), 0, NULL, 'a', 'a/', true, NULL), "
      "(51, gen_random_uuid(), 0, NULL, E'a\\x1f' || 'b', 'ab/', true, NULL)");
  make({"a", "b", "c"});
  EXPECT_EQ(line(),
            "created_schema:\"a\x1f"
            "b\".\"c\"");
  EXPECT_EQ(ask("SELECT parent_schema_id FROM @ducklake_schema WHERE schema_name = 'c'"), "51");
}

TEST_F(Writer11, tables_go_into_the_nested_schema_and_not_into_one_of_its_name) {
  make({"sales"});
  make({"europe"});
  make({"sales", "europe"});
  auto lake = writer();
  const model::TableIdentifier nested{Namespace{{"sales", "europe"}}, "t"};
  auto made = run(lake.create_table(soon(), {nested, metadata("t", std::nullopt), {}}));
  ASSERT_TRUE(made) << made.error().message() << made.error().detail();
  EXPECT_EQ(line(), "created_table:\"sales\".\"europe\".\"t\"");
  EXPECT_EQ(ask("SELECT schema_id FROM @ducklake_table WHERE end_snapshot IS NULL"), "3");
  const model::TableIdentifier top{Namespace{{"europe"}}, "t"};
  EXPECT_EQ(run(lake.drop_table(soon(), top)).error().reason(), kNoSuchTable);
  EXPECT_EQ(run(lake.rename_table(soon(), top, nested)).error().reason(), kNoSuchTable);
  ASSERT_TRUE(run(lake.rename_table(soon(), nested, top)));
  EXPECT_EQ(line(), "created_table:\"europe\".\"t\"");
  ASSERT_TRUE(run(lake.rename_table(soon(), top, nested)));
  EXPECT_EQ(line(), "created_table:\"sales\".\"europe\".\"t\"");
  ASSERT_TRUE(run(lake.drop_table(soon(), nested)));
}

TEST_F(Writer11, a_changed_table_gets_an_inlined_table_with_the_names_of_1_1) {
  make_table("t");
  exec(
      "INSERT INTO ducklake_inlined_data_tables VALUES (1, 'ducklake_inlined_data_1_1', 1);"
      "CREATE TABLE ducklake_inlined_data_1_1 (_ducklake_row_id bigint, _ducklake_begin_snapshot "
      "bigint, _ducklake_end_snapshot bigint, i bigint, s bytea, f double precision)");
  auto before = load("t");
  model::TableMetadata after = before->metadata;
  model::Schema schema = after.current_schema();
  schema.schema_id = 1;
  schema.fields.push_back({.id = 4, .name = "row_id", .type = model::Type(model::TypeKind::kLong)});
  after.schemas.push_back(schema);
  after.current_schema_id = 1;
  after.last_column_id = 4;
  auto changed = change({before, after, {}});
  ASSERT_TRUE(changed) << changed.error().message() << changed.error().detail();
  EXPECT_EQ(ask("SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute WHERE attnum > "
                "0 AND attrelid = '@ducklake_inlined_data_1_2'::regclass"),
            "_ducklake_row_id,_ducklake_begin_snapshot,_ducklake_end_snapshot,i,s,f,row_id");
}

TEST_F(Writer11, names_that_ducklake_reserves_are_refused) {
  auto with_name = metadata("t", std::nullopt);
  with_name.schemas[0].fields[0].name = "_DUCKLAKE_x";
  auto lake = writer();
  auto refused = run(lake.create_table(soon(), {{kMain, "t"}, with_name, {}}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(ask("SELECT max(snapshot_id) FROM @ducklake_snapshot"), "0");
}

// What was read of the table may stand otherwise in the migrated lake.
TEST_F(Writer11, a_commit_that_was_prepared_before_the_migration_reads_again) {
  exec("UPDATE ducklake_metadata SET value = '1.0' WHERE key = 'version'");
  make_table("t");
  auto before = load("t");
  exec("UPDATE ducklake_metadata SET value = '1.1' WHERE key = 'version'");
  auto stale =
      append(before, {{.client_snapshot_id = model::SnapshotId(11), .files = {file("a", 1, 2)}}});
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().reason(), kStale);
  auto done = append(load("t"),
                     {{.client_snapshot_id = model::SnapshotId(11), .files = {file("a", 1, 2)}}});
  EXPECT_TRUE(done) << done.error().message() << done.error().detail();
}

TEST_F(Writer11, days_and_years_are_counted_from_1970) {
  auto by_year = metadata("t", std::nullopt);
  by_year.schemas[0].fields.push_back(
      {.id = 4, .name = "d", .type = model::Type(model::TypeKind::kDate)});
  by_year.last_column_id = 4;
  by_year.partition_specs[0].fields = {{4, 1000, "d_day", {model::TransformKind::kDay}}};
  auto lake = writer();
  AddedFile added = file("a", 1, 2);
  added.file.partition = {std::int32_t{-1}};
  auto made = run(lake.create_table(
      soon(),
      {{kMain, "t"}, by_year, {{.client_snapshot_id = model::SnapshotId(11), .files = {added}}}}));
  ASSERT_TRUE(made) << made.error().message() << made.error().detail();
  EXPECT_EQ(ask("SELECT transform FROM @ducklake_partition_column"), "epoch_day");
  EXPECT_EQ(ask("SELECT partition_value FROM @ducklake_file_partition_value"), "-1");
  // Again, of a table that is read.
  added.file.partition = {std::int32_t{19723}};
  auto more = append(load("t"), {{.client_snapshot_id = model::SnapshotId(12), .files = {added}}});
  ASSERT_TRUE(more) << more.error().message() << more.error().detail();
  EXPECT_EQ(ask("SELECT string_agg(partition_value, ',' ORDER BY data_file_id) FROM "
                "@ducklake_file_partition_value"),
            "-1,19723");
}

// What a lake had before it was migrated keeps its meaning.
TEST_F(Writer11, an_older_partition_keeps_its_calendar_parts) {
  exec("UPDATE ducklake_metadata SET value = '1.0' WHERE key = 'version'");
  auto by_year = metadata("t", std::nullopt);
  by_year.schemas[0].fields.push_back(
      {.id = 4, .name = "d", .type = model::Type(model::TypeKind::kDate)});
  by_year.last_column_id = 4;
  by_year.partition_specs[0].fields = {{4, 1000, "d_year", {model::TransformKind::kYear}}};
  auto lake = writer();
  ASSERT_TRUE(run(lake.create_table(soon(), {{kMain, "t"}, by_year, {}})));
  exec("UPDATE ducklake_metadata SET value = '1.1' WHERE key = 'version'");
  AddedFile added = file("a", 1, 2);
  added.file.partition = {std::int32_t{54}};
  auto more = append(load("t"), {{.client_snapshot_id = model::SnapshotId(12), .files = {added}}});
  ASSERT_TRUE(more) << more.error().message() << more.error().detail();
  EXPECT_EQ(ask("SELECT transform FROM @ducklake_partition_column"), "year");
  EXPECT_EQ(ask("SELECT partition_value FROM @ducklake_file_partition_value"), "2024");
}

TEST_F(Writer11, bounds_of_a_client_are_never_called_exact) {
  make_table("t");
  exec(
      "INSERT INTO ducklake_table_column_stats (table_id, column_id, contains_null, min_value, "
      "max_value, min_is_exact, max_is_exact) VALUES (1, 2, false, 'a', 'z', true, true), (1, 1, "
      "true, '-9223372036854775808', '9223372036854775807', true, NULL)");
  auto added = append(load("t"),
                      {{.client_snapshot_id = model::SnapshotId(11), .files = {file("a", 1, 2)}}});
  ASSERT_TRUE(added) << added.error().message() << added.error().detail();
  EXPECT_EQ(
      ask("SELECT count(*) FROM @ducklake_table_column_stats WHERE min_is_exact OR max_is_exact"),
      "0");
  EXPECT_EQ(ask("SELECT count(*) FROM @ducklake_file_column_stats WHERE min_is_exact IS NULL AND "
                "max_is_exact IS NULL"),
            "3");
}

TEST_F(Writer11, a_copy_of_a_row_keeps_what_1_1_knows_of_its_file) {
  exec(
      "INSERT INTO ducklake_data_file (data_file_id, table_id, begin_snapshot, path, "
      "row_group_count) "
      "VALUES (5, 1, 1, 'f', 3); INSERT INTO ducklake_file_column_stats (data_file_id, table_id, "
      "column_id, min_value, min_is_exact) VALUES (5, 1, 2, 'a', true);");
  (void)ask("SELECT @lakeproxy_copy_files('{5}', '{9}', 2)::text");
  EXPECT_EQ(ask("SELECT row_group_count FROM @ducklake_data_file WHERE data_file_id = 9"), "3");
  EXPECT_EQ(ask("SELECT min_is_exact FROM @ducklake_file_column_stats WHERE data_file_id = 9"),
            "true");
}

}  // namespace
}  // namespace lake::ducklake
