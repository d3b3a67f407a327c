// Lakes of DuckLake 1.1: what DuckDB 2.0 alone writes stands here as rows made by hand.

#include "lakeproxy/ducklake/lake/reasons.h"
#include "lakeproxy/ducklake/read/reader_fixture_test.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using model::LakeFormat;
using model::Namespace;
using model::SnapshotId;
using model::TableId;

class Format11 : public Reader {
 protected:
  void SetUp() override {
    open();
    if (version() == "1.0") migrate_to_1_1();
  }

  std::vector<std::string> names(std::optional<Namespace> parent) {
    auto lake = reader();
    auto found = run(lake.list_namespaces(soon(), std::move(parent), {}));
    std::vector<std::string> names;
    if (!found) return {"error"};
    for (const Namespace& name : found->items) names.push_back(name.display());
    return names;
  }
  std::optional<std::int64_t> table(std::vector<std::string> levels, const char* name) {
    auto lake = reader();
    auto found = run(lake.find_table(soon(), {Namespace{std::move(levels)}, name}));
    return found ? std::optional(found->value) : std::nullopt;
  }
  /// europe, sales, sales.europe, sales.europe.north, each with a table t; and what a server
  /// of ours made before the migration: "sales" + U+001F + "flat", and one beside a nested one.
  void nest() {
    snapshot(1, "created_schema:\"sales\".\"europe\"",
             "INSERT INTO ducklake_schema VALUES (10, gen_random_uuid(), 1, NULL, 'europe', 'e/', "
             "true, NULL), (11, gen_random_uuid(), 1, NULL, 'sales', 's/', true, NULL), "
             "(12, gen_random_uuid(), 1, NULL, 'europe', 'se/', true, 11), "
             "(13, gen_random_uuid(), 1, NULL, 'north', 'sen/', true, 12), "
             "(14, gen_random_uuid(), 1, NULL, E'sales\\x1f' || 'flat', 'sf/', true, NULL), "
             "(15, gen_random_uuid(), 1, NULL, E'sales\\x1f' || 'europe', 'old/', true, NULL), "
             "(16, gen_random_uuid(), 1, NULL, 'a.\"b', 'ab/', true, 14), "
             "(17, gen_random_uuid(), 1, 1, 'gone', 'g/', true, 11);"
             "INSERT INTO ducklake_table SELECT s, gen_random_uuid(), 1, NULL, s, 't', 't/', true "
             "FROM generate_series(10, 16) AS s");
  }
};

TEST_F(Format11, shows_nested_schemas_level_by_level) {
  nest();
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(std::nullopt), (Names{"europe", "main", "sales"}));
  EXPECT_EQ(names(Namespace{{"sales"}}), (Names{"sales.europe", "sales.flat"}));
  EXPECT_EQ(names(Namespace{{"sales", "europe"}}), Names{"sales.europe.north"});
  EXPECT_EQ(names(Namespace{{"sales", "flat"}}), Names{"sales.flat.a.\"b"});
  EXPECT_EQ(names(Namespace{{"europe"}}), Names{});
  EXPECT_EQ(names(Namespace{{"north"}}), Names{"error"}) << "a level alone is no schema";
}

TEST_F(Format11, a_schema_is_found_by_its_whole_path) {
  nest();
  EXPECT_EQ(table({"europe"}, "t"), 10);
  EXPECT_EQ(table({"sales"}, "t"), 11);
  EXPECT_EQ(table({"sales", "europe"}, "t"), 12) << "the nested one, not the flat one of before";
  EXPECT_EQ(table({"sales", "europe", "north"}, "t"), 13);
  EXPECT_EQ(table({"sales", "flat"}, "t"), 14);
  EXPECT_EQ(table({"sales", "flat", "a.\"b"}, "t"), 16);
  for (const auto& levels : std::vector<std::vector<std::string>>{
           {"north"}, {"flat"}, {"europe", "north"}, {"sales", "north"}, {"sales", "gone"}}) {
    EXPECT_EQ(table(levels, "t"), std::nullopt) << levels.back();
  }
  auto lake = reader();
  auto loaded = run(lake.load_namespace(soon(), Namespace{{"sales", "europe"}}));
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->id, model::NamespaceId(12));
  EXPECT_EQ(loaded->location, "s3://lake/data/se") << "not under its parent's";
  EXPECT_EQ(ask("SELECT @lakeproxy_schema_word(16)"),
            "\"sales\x1f"
            "flat\".\"a.\"\"b\"");
}

TEST_F(Format11, a_table_is_named_by_its_whole_path) {
  nest();
  auto lake = reader();
  auto named = run(lake.identify(soon(), {TableId(12), TableId(13), TableId(14), TableId(15)}));
  ASSERT_TRUE(named);
  std::set<std::string> names;
  for (const auto& one : *named) names.insert(one.display());
  EXPECT_EQ(names,
            (std::set<std::string>{"sales.europe.t", "sales.europe.north.t", "sales.flat.t"}))
      << "the table of a schema that another one stands for has no name";
}

// The worst that can happen: the table's own numbers are taken for snapshots.
TEST_F(Format11, columns_of_the_table_are_not_those_of_ducklake) {
  snapshot(1, "created_table:\"main\".\"t\"",
           "INSERT INTO ducklake_table VALUES (1, '11111111-1111-1111-1111-111111111111', 1, "
           "NULL, 0, 't', 't/', true); INSERT INTO ducklake_schema_versions VALUES (1, 1, 1); "
           "INSERT INTO ducklake_column SELECT n, 1, NULL, 1, n, name, 'int64', NULL, 'NULL', "
           "true, NULL, 'literal', 'duckdb' FROM unnest(ARRAY['begin_snapshot', 'row_id', "
           "'end_snapshot', 'place', 'id']) WITH ORDINALITY AS c(name, n)");
  snapshot(2, "inlined_insert:1",
           "CREATE TABLE ducklake_inlined_data_1_1 (_ducklake_row_id bigint, "
           "_ducklake_begin_snapshot bigint, _ducklake_end_snapshot bigint, begin_snapshot bigint, "
           "row_id bigint, end_snapshot bigint, place bigint, id bigint);"
           "INSERT INTO ducklake_inlined_data_tables VALUES (1, 'ducklake_inlined_data_1_1', 1);"
           "INSERT INTO ducklake_table_stats VALUES (1, 2, 2, 0);"
           "INSERT INTO ducklake_inlined_data_1_1 VALUES (0, 2, NULL, 70, 80, 90, 100, 110), "
           "(1, 2, 3, 1, 2, NULL, 3, 4)");
  snapshot(3, "inlined_delete:1");
  EXPECT_EQ(pending(), (Ids{2, 3}));
  const model::LakeTable table = load();
  auto lake = reader();
  auto read = run(lake.read_changes(soon(), &table, std::nullopt, SnapshotId(3)));
  ASSERT_TRUE(read) << read.error().message() << read.error().detail();
  ASSERT_EQ(read->inlined.size(), 1U);
  ASSERT_EQ(read->inlined[0].rows.size(), 2U);
  const model::LakeInlinedRow& row = read->inlined[0].rows[0];
  EXPECT_EQ(row.begin, SnapshotId(2));
  EXPECT_EQ(row.end, std::nullopt);
  using Values = std::vector<std::optional<std::string>>;
  EXPECT_EQ(row.values, (Values{"70", "80", "90", "100", "110"}));
  EXPECT_EQ(read->inlined[0].rows[1].end, SnapshotId(3));
  // Written, too: ended by a client, restored, rolled back, counted, ended with all.
  const auto rows = [&] {
    return ask(
        "SELECT string_agg(_ducklake_row_id || ':' || _ducklake_begin_snapshot || '-' || "
        "coalesce(_ducklake_end_snapshot::text, '') || '=' || id, ' ' ORDER BY "
        "_ducklake_row_id, _ducklake_begin_snapshot) FROM @ducklake_inlined_data_1_1");
  };
  EXPECT_EQ(ask("SELECT @lakeproxy_end_inlined_rows(1, 1, 2, '{0}', 4)"), "1");
  EXPECT_EQ(rows(), "0:2-4=110 1:2-3=4");
  EXPECT_EQ(ask("SELECT @lakeproxy_return_inlined_rows(1, 1, 2, '{0,1}', 5)"), "0");
  EXPECT_EQ(rows(), "0:2-4=110 0:5-=110 1:2-3=4 1:5-=4");
  EXPECT_EQ(ask("SELECT (@lakeproxy_table_totals(1)).inlined"), "2");
  (void)ask("SELECT @lakeproxy_restore_inlined(1, 2, '{}', '{}', 6)::text");
  EXPECT_EQ(rows(), "0:2-4=110 0:5-6=110 0:6-=110 1:2-3=4 1:5-6=4 1:6-=4");
  (void)ask("SELECT @lakeproxy_end_content(1, 7)::text");
  EXPECT_EQ(ask("SELECT (@lakeproxy_table_totals(1)).inlined"), "0");
}

TEST_F(Format11, a_migration_under_the_server_is_noticed_and_nothing_of_before_counts) {
  exec("UPDATE ducklake_metadata SET value = '1.0' WHERE key = 'version'");
  auto lake = reader();
  const auto before = run(lake.version(soon()));
  ASSERT_TRUE(before);
  exec("UPDATE ducklake_metadata SET value = '1.1' WHERE key = 'version'");
  const auto now = run(lake.version(soon()));
  ASSERT_TRUE(now);
  EXPECT_EQ(now->snapshot, before->snapshot);
  EXPECT_EQ(now->revision, before->revision);
  EXPECT_NE(*now, *before);
  auto changed = run(lake.changed_since(soon(), *before));
  ASSERT_TRUE(changed);
  EXPECT_FALSE(changed->goes_on);
  EXPECT_FALSE(changed->tables) << "each may have changed";
  EXPECT_EQ(changed->version.format, LakeFormat::k1_1);
  EXPECT_TRUE(run(lake.changed_since(soon(), *now))->goes_on);

  exec("ALTER TABLE ducklake_schema DROP parent_schema_id");
  auto corrupt = run(lake.changed_since(soon(), *before));
  ASSERT_FALSE(corrupt);
  EXPECT_EQ(corrupt.error().kind(), ErrorKind::kCorrupt);
}

// Three of them, as a client of DuckDB may commit them.
TEST_F(Format11, a_line_of_the_log_with_nested_names_is_understood) {
  auto lake = reader();
  const auto before = run(lake.version(soon()));
  nest();
  auto changed = run(lake.changed_since(soon(), *before));
  ASSERT_TRUE(changed);
  EXPECT_TRUE(changed->tables) << "an unknown line would say that all tables changed";
}

// DuckDB 2.0 may commit in a function of its own, which has this search path: our triggers run
// under it.
TEST_F(Format11, a_commit_of_a_function_that_sees_no_schema_passes_the_triggers) {
  make_table();
  snapshot(2, "inserted_into_table:1", data_file(1, 2) + ";" + data_file(2, 2));
  exec(
      "SET search_path TO pg_catalog, pg_temp; BEGIN;"
      "INSERT INTO lk.ducklake_snapshot VALUES (3, now(), 2, 100, 100);"
      "INSERT INTO lk.ducklake_snapshot_changes VALUES (3, 'merge_adjacent:1', NULL, NULL, NULL);"
      "INSERT INTO lk.ducklake_column VALUES (2, 3, NULL, 1, 2, 'j', 'int32', NULL, 'NULL', true, "
      "NULL, 'literal', 'duckdb');"
      "INSERT INTO lk.ducklake_inlined_data_tables VALUES (1, 'ducklake_inlined_data_1_2', 2);"
      "CREATE TABLE lk.ducklake_inlined_data_1_2 (_ducklake_row_id bigint, "
      "_ducklake_begin_snapshot bigint, _ducklake_end_snapshot bigint, i integer, j integer);"
      "INSERT INTO lk.ducklake_column_mapping VALUES (7, 1, 'map_by_name');"
      "INSERT INTO lk.ducklake_name_mapping VALUES (7, 1, 'i', 1, NULL, true);"
      "DELETE FROM lk.ducklake_data_file WHERE data_file_id = 1;"
      "INSERT INTO lk.ducklake_files_scheduled_for_deletion VALUES (1, 'main/t/f1.parquet', true, "
      "now());"
      "COMMIT; DELETE FROM lk.ducklake_snapshot WHERE snapshot_id = 1");
  EXPECT_EQ(ask("SELECT snapshot_id FROM @lakeproxy_maintained"), "3");
  EXPECT_EQ(ask("SELECT object FROM @lakeproxy_kept_file"), "s3://lake/data/main/t/f1.parquet");
  EXPECT_EQ(ask("SELECT max(schema_version) FROM @ducklake_schema_versions"), "2");
}

// It was made by a commit of ours after the migration had read the list of them.
TEST_F(Format11, an_inlined_table_that_a_migration_passed_over_gets_its_names) {
  exec(
      "UPDATE ducklake_metadata SET value = '1.0' WHERE key = 'version';"
      "CREATE TABLE late (row_id bigint, begin_snapshot bigint, end_snapshot bigint, i bigint);"
      "CREATE TABLE other (_ducklake_row_id bigint, _ducklake_begin_snapshot bigint, "
      "_ducklake_end_snapshot bigint, row_id bigint);"
      "INSERT INTO ducklake_inlined_data_tables VALUES (1, 'late', 1), (2, 'other', 1);"
      "UPDATE ducklake_metadata SET value = '1.1' WHERE key = 'version'");
  const auto names = [&](const char* table) {
    return ask(
        fmt::format("SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute WHERE "
                    "attrelid = '@{}'::regclass AND attnum > 0",
                    table));
  };
  const std::string own = "_ducklake_row_id,_ducklake_begin_snapshot,_ducklake_end_snapshot,";
  EXPECT_EQ(names("late"), own + "i");
  EXPECT_EQ(names("other"), own + "row_id");
}

}  // namespace
}  // namespace lake::ducklake
