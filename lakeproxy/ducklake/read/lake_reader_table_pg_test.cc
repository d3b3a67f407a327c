#include "lakeproxy/ducklake/lake/reasons.h"
#include "lakeproxy/ducklake/read/reader_fixture_test.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using model::SnapshotId;
using model::TableId;

TEST_F(Reader, loads_a_table_that_duckdb_made) {
  make_table();
  exec("INSERT INTO ducklake_tag VALUES (1, 1, NULL, 'comment', 'hello')");
  const model::LakeTable table = load();
  EXPECT_EQ(table.name, "t");
  EXPECT_EQ(table.created, SnapshotId(1));
  EXPECT_EQ(table.version, *run(reader().version(soon())));
  EXPECT_EQ(table.version.snapshot, SnapshotId(1));
  EXPECT_EQ(table.version.revision, 1);
  EXPECT_EQ(table.metadata.location, "s3://lake/data/main/t");
  EXPECT_EQ(table.metadata.table_uuid[0], 0x11);
  EXPECT_EQ(table.metadata.format_version, 2);
  EXPECT_EQ(table.metadata.last_column_id, 1);
  EXPECT_EQ(table.metadata.properties,
            (std::map<std::string, std::string>{{"comment", "hello"}, {"gc.enabled", "false"}}));
  // 2026-01-01T00:01:00Z, a second earlier.
  EXPECT_EQ(table.metadata.last_updated_ms, 1767225660000 - 1000);
  EXPECT_EQ(table.schema_at, (std::map<SnapshotId, std::int32_t>{{SnapshotId(1), 0}}));
  EXPECT_EQ(table.metadata.partition_specs.size(), 1);
  EXPECT_TRUE(table.pending.empty()) << "to make a table changes no rows";
}

TEST_F(Reader, takes_the_sidecars_into_account) {
  make_table();
  exec(
      "INSERT INTO lakeproxy_table (table_id, revision, table_uuid, properties, refs, "
      "default_sort_order_id, last_partition_id, updated_ms) VALUES (1, 1, "
      "'22222222-2222-2222-2222-222222222222', '{\"lakeproxy.format-version\": \"3\", \"k\": "
      "\"v\"}', "
      "'{\"tag\": {\"snapshot-id\": 4, \"type\": \"tag\"}}', 0, "
      "1005, 4000000000000);"
      "INSERT INTO lakeproxy_snapshot_alias VALUES (1, 777, 4);"
      "INSERT INTO lakeproxy_metadata_log VALUES (1, 1, 5, 's3://l/1.json'), (1, 2, 6, "
      "'s3://l/2.json')");
  const model::LakeTable table = load();
  EXPECT_EQ(table.metadata.table_uuid[0], 0x22);
  EXPECT_EQ(table.metadata.format_version, 3);
  EXPECT_EQ(table.metadata.properties.at("k"), "v");
  EXPECT_EQ(table.metadata.refs.at("tag").snapshot_id, SnapshotId(4));
  EXPECT_EQ(table.metadata.last_partition_id, 1005);
  EXPECT_EQ(table.metadata.last_updated_ms, 4000000000000);
  EXPECT_EQ(table.aliases.at(777), SnapshotId(4));
  ASSERT_EQ(table.metadata.metadata_log.size(), 2);
  EXPECT_EQ(table.metadata.metadata_log[1].metadata_file, "s3://l/2.json");
}

TEST_F(Reader, pending_are_the_snapshots_that_changed_rows) {
  make_table();
  snapshot(2, "inserted_into_table:1", data_file(1, 2));
  snapshot(3, "inserted_into_table:2");
  snapshot(4, "altered_table:1");
  snapshot(5, "deleted_from_table:1",
           "INSERT INTO ducklake_delete_file VALUES (2, 1, 5, NULL, 1, 'd.parquet', true, "
           "'parquet', 1, 100, 10, NULL, NULL)");
  snapshot(6, "deleted_from_table:1", "UPDATE ducklake_data_file SET end_snapshot = 6");
  EXPECT_EQ(pending(), (Ids{2, 5, 6}));
  materialize(2);
  EXPECT_EQ(pending(), (Ids{5, 6}));
  EXPECT_EQ(load().materialized.size(), 1);
  materialize(6);
  EXPECT_EQ(pending(), Ids{});
}

TEST_F(Reader, a_snapshot_that_was_removed_is_stood_for_by_the_next) {
  make_table();
  snapshot(2, "inserted_into_table:1", data_file(1, 2));
  snapshot(3, "inserted_into_table:1", data_file(2, 3));
  snapshot(4, "inserted_into_table:9");
  snapshot(5, "inserted_into_table:1", data_file(3, 5));
  materialize(2);
  exec("DELETE FROM ducklake_snapshot WHERE snapshot_id IN (0, 1, 2, 3)");
  EXPECT_TRUE(load().materialized.empty()) << "its snapshot is gone";
  EXPECT_EQ(pending(), (Ids{4, 5})) << "the rows of 3 are seen at 4";
}

TEST_F(Reader, a_snapshot_without_the_table_stands_for_none) {
  make_table();
  snapshot(2, "inserted_into_table:1", data_file(1, 2));
  snapshot(3, "inserted_into_table:1", data_file(2, 3));
  snapshot(4, "dropped_table:1", "UPDATE ducklake_table SET end_snapshot = 4");
  snapshot(
      5, "created_table:\"main\".\"t\"",
      "INSERT INTO ducklake_table SELECT table_id, table_uuid, 5, NULL, schema_id, table_name, "
      "path, path_is_relative FROM ducklake_table");
  snapshot(6, "inserted_into_table:1", data_file(3, 6));
  EXPECT_EQ(pending(), (Ids{2, 3, 6}));
  exec("DELETE FROM ducklake_snapshot WHERE snapshot_id = 3");
  EXPECT_EQ(pending(), (Ids{2, 5, 6})) << "the rows of 3 are seen at 5";
}

TEST_F(Reader, maintenance_is_one_more_snapshot) {
  make_table();
  snapshot(2, "inserted_into_table:1", data_file(1, 2));
  materialize(2);
  snapshot(3, "created_table:\"main\".\"x,merge_adjacent:1\"");
  snapshot(4, "merge_adjacent:11,inline_flush:12");
  EXPECT_EQ(load().last_maintenance, std::nullopt) << "other tables";
  EXPECT_EQ(pending(), Ids{});
  Ids all;
  for (const char* entry :
       {"merge_adjacent", "inline_flush", "flushed_inlined", "rewrite_delete", "compacted_table"}) {
    const int id = static_cast<int>(load().version.snapshot.value) + 1;
    snapshot(id, fmt::format("inline_flush:8,{}:1", entry));
    all.push_back(id);
    EXPECT_EQ(load().last_maintenance, SnapshotId(id)) << entry;
    EXPECT_EQ(load().materialized.size(), 1) << "what is published stays";
    EXPECT_EQ(pending(), all);
  }
  exec("DELETE FROM ducklake_snapshot WHERE snapshot_id = 9");
  snapshot(10, "inserted_into_table:11");
  EXPECT_EQ(pending(), (Ids{5, 6, 7, 8, 10})) << "the next that is kept stands for the last";
}

TEST_F(Reader, a_file_of_several_snapshots_is_seen_whole_at_the_last) {
  make_table();
  for (int id : {2, 4, 6, 8}) {
    snapshot(id, "inlined_insert:1");
    snapshot(id + 1, "inserted_into_table:11,altered_table:1");
  }
  EXPECT_EQ(pending(), Ids{}) << "no file, no rows";
  exec(data_file(1, 2) + ";" + data_file(2, 4, "NULL", "8"));
  EXPECT_EQ(pending(), (Ids{2, 4, 8}));
}

TEST_F(Reader, a_delete_file_beside_flushed_rows_ends_with_their_flush) {
  make_table();
  auto flushed_at = [&] {
    const model::LakeTable table = load();
    auto lake = reader();
    auto changes = run(lake.read_changes(soon(), &table, std::nullopt, SnapshotId(9)));
    EXPECT_TRUE(changes) << changes.error().detail();
    return changes->delete_files.at(0).flushed_at;
  };
  snapshot(2, "inlined_insert:1");
  snapshot(3, "inlined_delete:1,created_table:\"main\".\"x,inline_flush:1,\"");
  snapshot(4, "inlined_insert:1");
  snapshot(5, "inline_flush:11");
  snapshot(6, "inline_flush:1",
           data_file(1, 2, "NULL", "2") +
               "; INSERT INTO ducklake_delete_file VALUES (2, 1, 3, NULL, 1, 'd', true, 'parquet', "
               "1, 100, 10, NULL, NULL)");
  snapshot(8, "inline_flush:1");
  EXPECT_EQ(flushed_at(), SnapshotId(6)) << "and not with the last maintenance";
  exec("DELETE FROM ducklake_snapshot_changes WHERE snapshot_id = 6");
  EXPECT_EQ(flushed_at(), SnapshotId(8));
  exec("DELETE FROM ducklake_snapshot_changes WHERE snapshot_id = 8");
  EXPECT_EQ(flushed_at(), SnapshotId(8)) << "the log does not tell";
  exec("UPDATE ducklake_delete_file SET partial_max = 3");
  EXPECT_EQ(flushed_at(), std::nullopt) << "it says so itself";
}

TEST_F(Reader, a_delete_file_that_is_written_anew_changes_what_is_published) {
  make_table();
  snapshot(2, "inserted_into_table:1", data_file(1, 2));
  snapshot(3, "deleted_from_table:1",
           "INSERT INTO ducklake_delete_file VALUES (2, 1, 3, NULL, 1, 'd', true, 'parquet', 1, "
           "100, 10, NULL, NULL)");
  materialize(3);
  EXPECT_EQ(pending(), Ids{});
  snapshot(4, "deleted_from_table:1");
  snapshot(5, "deleted_from_table:1",
           "UPDATE ducklake_delete_file SET delete_file_id = 3, partial_max = 5, path = 'e'");
  EXPECT_EQ(pending(), (Ids{4, 5})) << "the file says what 4 deleted";
  const model::LakeTable table = load();
  auto lake = reader();
  auto changes = run(lake.read_changes(soon(), &table, SnapshotId(3), SnapshotId(5)));
  ASSERT_TRUE(changes) << changes.error().detail();
  EXPECT_EQ(changes->data_files.size(), 1U);
  EXPECT_EQ(changes->delete_files.size(), 1U);
}

TEST_F(Reader, maintenance_stands_for_a_removed_snapshot) {
  make_table();
  snapshot(2, "inserted_into_table:1", data_file(1, 2));
  snapshot(3, "inserted_into_table:1", data_file(2, 3));
  snapshot(4, "merge_adjacent:1");
  auto standing = [&] {
    const model::LakeTable table = load();
    auto lake = reader();
    auto changes = run(lake.read_changes(soon(), &table, std::nullopt, SnapshotId(9)));
    EXPECT_TRUE(changes) << changes.error().detail();
    return changes->commits.back().stands_for_others;
  };
  EXPECT_FALSE(standing());
  exec("DELETE FROM ducklake_snapshot WHERE snapshot_id = 3");
  EXPECT_TRUE(standing());
}

TEST_F(Reader, behind_maintenance_all_is_read_that_is_shown) {
  make_table();
  snapshot(2, "inserted_into_table:1", data_file(1, 2) + ";" + data_file(2, 2));
  materialize(2);
  auto read = [&](const model::LakeTable& table) {
    auto lake = reader();
    return run(lake.read_changes(soon(), &table, SnapshotId(2), SnapshotId(9)));
  };
  snapshot(3, "inserted_into_table:11");
  snapshot(4, "deleted_from_table:1",
           "UPDATE ducklake_data_file SET end_snapshot = 4 WHERE "
           "data_file_id = 2");
  const model::LakeTable before = load();
  auto changes = read(before);
  ASSERT_TRUE(changes);
  EXPECT_EQ(changes->data_files.size(), 1) << "the one that ends";
  EXPECT_EQ(changes->after, SnapshotId(2));
  EXPECT_EQ(changes->published, std::nullopt);

  snapshot(5, "merge_adjacent:1");
  EXPECT_EQ(read(before).error().reason(), kStale) << "the files are others than the table's";
  changes = read(load());
  ASSERT_TRUE(changes);
  EXPECT_EQ(changes->data_files.size(), 2);
  EXPECT_EQ(changes->after, std::nullopt);
  EXPECT_EQ(changes->published, SnapshotId(2));
  EXPECT_EQ(changes->first_row_change, SnapshotId(4));
  exec(
      "UPDATE ducklake_snapshot_changes SET changes_made = 'deleted_from_table:1,inline_flush:1' "
      "WHERE snapshot_id = 4");
  EXPECT_EQ(read(load())->first_row_change, std::nullopt) << "a flush of deletes";
  exec("DELETE FROM ducklake_snapshot WHERE snapshot_id = 3");
  EXPECT_EQ(read(load())->first_row_change, SnapshotId(4)) << "nobody knows what 3 was";
}

TEST_F(Reader, the_newest_published_version_goes_before_a_lower_default) {
  make_table();
  snapshot(2, "inserted_into_table:1", data_file(1, 2));
  materialize(2);
  EXPECT_EQ(load().metadata.format_version, 2);
  EXPECT_EQ(load().materialized.size(), 1);
  options_.default_format_version = 3;
  EXPECT_EQ(load().metadata.format_version, 3);
  EXPECT_TRUE(load().materialized.empty()) << "published for version 2";
  EXPECT_EQ(pending(), Ids{2});
  exec("UPDATE lakeproxy_snapshot SET format_version = 3");
  options_.default_format_version = 2;
  EXPECT_EQ(load().metadata.format_version, 3);
  EXPECT_EQ(load().materialized.size(), 1);
  EXPECT_EQ(pending(), Ids{});
}

TEST_F(Reader, a_column_of_duckdbs_raises_the_version_for_good) {
  make_table();
  exec(
      "INSERT INTO lakeproxy_table (table_id, revision, format_version, properties, updated_ms) "
      "VALUES (1, 1, 2, '{\"lakeproxy.format-version\": \"2\"}', 1)");
  snapshot(2, "inserted_into_table:1", data_file(1, 2));
  materialize(2);
  EXPECT_EQ(load().metadata.format_version, 2);
  EXPECT_EQ(load().materialized.size(), 1);
  snapshot(3, "altered_table:1",
           "INSERT INTO ducklake_column VALUES (2, 3, NULL, 1, 2, 's', 'struct', NULL, 'NULL', "
           "true, NULL, '', 'duckdb'), (3, 3, NULL, 1, 1, 'n', 'timestamp_ns', NULL, 'NULL', "
           "true, 2, 'literal', 'duckdb')");
  auto raised = load();
  EXPECT_EQ(raised.metadata.format_version, 3);
  EXPECT_EQ(raised.metadata.properties.at("lakeproxy.format-version"), "3");
  EXPECT_TRUE(raised.materialized.empty()) << "published for version 2";
  EXPECT_EQ(pending(), Ids{2});
  snapshot(4, "altered_table:1", "UPDATE ducklake_column SET end_snapshot = 4 WHERE column_id > 1");
  EXPECT_EQ(load().metadata.format_version, 3);
  exec("DELETE FROM ducklake_column WHERE column_id > 1; DELETE FROM lakeproxy_snapshot");
  EXPECT_EQ(load().metadata.format_version, 3) << "the schema is shown still";
}

TEST_F(Reader, a_column_that_came_and_went_unseen_raises_nothing) {
  make_table();
  snapshot(2, "altered_table:1",
           "INSERT INTO ducklake_column VALUES (2, 2, 3, 1, 2, 'n', 'timestamp_ns', NULL, 'NULL', "
           "true, NULL, 'literal', 'duckdb')");
  snapshot(3, "altered_table:1", "SELECT 1");
  EXPECT_EQ(load().metadata.format_version, 2);
}

TEST_F(Reader, an_expression_is_no_default_that_clients_can_have) {
  make_table();
  options_.default_format_version = 3;
  snapshot(
      2, "altered_table:1",
      "INSERT INTO ducklake_column VALUES (2, 2, NULL, 1, 2, 's', 'varchar', NULL, 'lower(1)', "
      "true, NULL, 'expression', 'duckdb'), (3, 2, NULL, 1, 3, 't', 'varchar', NULL, 'it', "
      "true, NULL, 'literal', 'duckdb')");
  const auto fields = load().metadata.current_schema().fields;
  EXPECT_EQ(fields.at(1).write_default, std::nullopt);
  EXPECT_EQ(fields.at(2).write_default, model::Literal(std::string("it")));
}

TEST_F(Reader, a_default_that_older_files_lack_is_refused) {
  make_table();
  snapshot(2, "inserted_into_table:1", data_file(1, 2));
  snapshot(3, "altered_table:1",
           "INSERT INTO ducklake_column VALUES (2, 3, NULL, 1, 2, 'z', 'int32', '5', '5', true, "
           "NULL, 'literal', 'duckdb')");
  auto lake = reader();
  auto table = run(lake.load_table(soon(), TableId(1)));
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().kind(), ErrorKind::kUnsupported);
  EXPECT_NE(table.error().message().find("'z'"), std::string::npos);
  options_.default_format_version = 3;
  EXPECT_EQ(load().metadata.schemas.back().fields[1].initial_default,
            model::Literal(std::int32_t{5}));
  options_.default_format_version = 2;
  exec("UPDATE ducklake_data_file SET end_snapshot = 3");
  EXPECT_EQ(load().metadata.schemas.size(), 2) << "no file is older";
}

TEST_F(Reader, shows_the_names_that_columns_have_in_added_files) {
  make_table();
  const std::string maps =
      "INSERT INTO ducklake_column_mapping VALUES (5, 1, 'map_by_name'), (6, 1, 'map_by_name'); "
      "INSERT INTO ducklake_name_mapping VALUES (5, 0, 'I', 1, NULL, false), "
      "(6, 0, 'j', 1, NULL, NULL);";
  snapshot(2, "inserted_into_table:1", maps + data_file(1, 2));
  EXPECT_TRUE(load().name_maps.empty()) << "no file needs them";
  exec("UPDATE ducklake_data_file SET mapping_id = 5");
  EXPECT_EQ(load().metadata.properties.at("schema.name-mapping.default"),
            R"([{"field-id":1,"names":["I"]}])");
  snapshot(3, "inserted_into_table:1", data_file(2, 3));
  exec("UPDATE ducklake_data_file SET mapping_id = 6 WHERE data_file_id = 2");
  EXPECT_EQ(load().metadata.properties.at("schema.name-mapping.default"),
            R"([{"field-id":1,"names":["I","j"]}])");
}

TEST_F(Reader, a_default_needs_version_3_also_where_a_file_was_added_without_the_column) {
  make_table();
  snapshot(2, "altered_table:1",
           "INSERT INTO ducklake_column VALUES (2, 2, NULL, 1, 2, 'z', 'int32', '5', '5', true, "
           "NULL, 'literal', 'duckdb')");
  snapshot(3, "inserted_into_table:1",
           "INSERT INTO ducklake_column_mapping VALUES (5, 1, 'map_by_name'); INSERT INTO "
           "ducklake_name_mapping VALUES (5, 0, 'i', 1, NULL, false);" +
               data_file(1, 3));
  EXPECT_TRUE(load().name_maps.empty());
  exec("UPDATE ducklake_data_file SET mapping_id = 5");
  auto lake = reader();
  auto refused = run(lake.load_table(soon(), model::TableId(1)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kUnsupported);
  EXPECT_NE(refused.error().message().find("'z'"), std::string::npos);
  exec("INSERT INTO ducklake_name_mapping VALUES (5, 1, 'z', 2, NULL, false)");
  EXPECT_EQ(load().name_maps.at(5).columns.size(), 2);
}

}  // namespace
}  // namespace lake::ducklake
