#include <numeric>

#include "lakeproxy/ducklake/lake/lake_fixture_test.h"
#include "lakeproxy/ducklake/lake/reasons.h"
#include "lakeproxy/ducklake/read/lake_reader.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using model::LakeVersion;
using model::Namespace;
using model::SnapshotId;
using model::TableId;

class Reader : public LakeFixture {
 protected:
  void SetUp() override { open(); }

  LakeReader reader() { return {*pool_, options_}; }

  /// Table 1, "main"."t" (i int), at snapshot 1.
  void make_table() {
    snapshot(1, "created_table:\"main\".\"t\"",
             "INSERT INTO ducklake_table VALUES (1, '11111111-1111-1111-1111-111111111111', 1, "
             "NULL, 0, 't', 't/', true); INSERT INTO ducklake_schema_versions VALUES (1, 1, 1); "
             "INSERT INTO ducklake_column VALUES (1, 1, NULL, 1, 1, 'i', 'int32', NULL, 'NULL', "
             "true, NULL, 'literal', 'duckdb')");
  }
  static std::string data_file(int id, int begin, const std::string& end = "NULL",
                               const std::string& partial_max = "NULL") {
    return fmt::format(
        "INSERT INTO ducklake_data_file VALUES ({0}, 1, {1}, {2}, NULL, 'f{0}.parquet', true, "
        "'parquet', 10, 1000, 100, 0, NULL, NULL, NULL, {3})",
        id, begin, end, partial_max);
  }
  model::LakeTable load() {
    auto lake = reader();
    auto table = run(lake.load_table(soon(), TableId(1)));
    EXPECT_TRUE(table) << table.error().message() << table.error().detail();
    return table ? std::move(*table) : model::LakeTable{};
  }
  std::vector<std::int64_t> pending() {
    std::vector<std::int64_t> ids;
    for (SnapshotId id : load().pending) ids.push_back(id.value);
    return ids;
  }
  void materialize(int snapshot_id, int epoch) {
    exec(fmt::format(
        "INSERT INTO lakeproxy_snapshot VALUES (1, {0}, {1}, '{{\"snapshot-id\": {0}, "
        "\"sequence-number\": 1, \"timestamp-ms\": 5, \"manifest-list\": \"s3://l/m.avro\", "
        "\"summary\": {{\"operation\": \"append\"}}}}') "
        "ON CONFLICT (table_id, snapshot_id) DO UPDATE SET epoch = excluded.epoch",
        snapshot_id, epoch));
  }
};

using Ids = std::vector<std::int64_t>;

TEST_F(Reader, lists_namespaces_level_by_level_in_pages) {
  snapshot(1, "created_schema:\"x\"",
           "INSERT INTO ducklake_schema SELECT n, gen_random_uuid(), 1, CASE name WHEN 'gone' THEN "
           "1 END, name, 'p/', true FROM unnest(ARRAY['a', 'B', 'a.b', E'a\\x1fc', E'a\\x1fd', "
           "E'a\\x1fc\\x1fe', E'bad\\nname', 'gone']) WITH ORDINALITY AS s(name, n)");
  auto lake = reader();
  auto list = [&](std::optional<Namespace> parent, PageRequest page) {
    auto found = run(lake.list_namespaces(soon(), parent, page));
    std::vector<std::string> names;
    if (!found) return names;
    for (const Namespace& name : found->items) names.push_back(name.display());
    if (found->next) names.push_back("next " + *found->next);
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(list(std::nullopt, {}), (Names{"B", "a", "a.b", "main"}));
  EXPECT_EQ(list(std::nullopt, {.size = 2}), (Names{"B", "a", "next a"}));
  EXPECT_EQ(list(std::nullopt, {.size = 2, .after = "a"}), (Names{"a.b", "main"}));
  EXPECT_EQ(list(Namespace{{"a"}}, {}), (Names{"a.c", "a.d"}));
  EXPECT_EQ(list(Namespace{{"a"}}, {.after = "c"}), (Names{"a.d"}));
  EXPECT_EQ(list(Namespace{{"a", "c"}}, {}), (Names{"a.c.e"}));
  EXPECT_EQ(list(Namespace{{"B"}}, {}), Names{});
  auto missing = run(lake.list_namespaces(soon(), Namespace{{"gone"}}, {}));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind(), ErrorKind::kNotFound);
  EXPECT_EQ(missing.error().reason(), kNoSuchNamespace);
}

TEST_F(Reader, loads_a_namespace) {
  exec("INSERT INTO lakeproxy_namespace VALUES (0, '{main}', '{\"owner\": \"me\"}')");
  auto lake = reader();
  auto found = run(lake.load_namespace(soon(), Namespace{{"main"}}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, model::NamespaceId(0));
  EXPECT_EQ(found->location, "s3://lake/data/main");
  EXPECT_EQ(found->properties, (std::map<std::string, std::string>{{"owner", "me"}}));
  auto missing = run(lake.load_namespace(soon(), Namespace{{"Main"}}));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().reason(), kNoSuchNamespace);
}

TEST_F(Reader, lists_and_finds_tables_that_are_shown_now) {
  make_table();
  snapshot(2, "created_table:\"main\".\"u\",created_table:\"main\".\"gone\"",
           "INSERT INTO ducklake_table VALUES (2, gen_random_uuid(), 2, NULL, 0, 'U', 'u/', true), "
           "(3, gen_random_uuid(), 2, 2, 0, 'gone', 'g/', true)");
  auto lake = reader();
  auto page = run(lake.list_tables(soon(), Namespace{{"main"}}, {.size = 1}));
  ASSERT_TRUE(page);
  ASSERT_EQ(page->items.size(), 1);
  EXPECT_EQ(page->items[0], "U");
  EXPECT_EQ(page->next, "U");
  page = run(lake.list_tables(soon(), Namespace{{"main"}}, {.size = 1, .after = "U"}));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->items[0], "t");
  EXPECT_FALSE(page->next);
  EXPECT_EQ(run(lake.list_tables(soon(), Namespace{{"no"}}, {})).error().reason(),
            kNoSuchNamespace);
  auto found = run(lake.find_table(soon(), {Namespace{{"main"}}, "t"}));
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, TableId(1));
  for (const char* name : {"gone", "T", "none"}) {
    auto missing = run(lake.find_table(soon(), {Namespace{{"main"}}, name}));
    ASSERT_FALSE(missing) << name;
    EXPECT_EQ(missing.error().kind(), ErrorKind::kNotFound);
    EXPECT_EQ(missing.error().reason(), kNoSuchTable);
  }
  EXPECT_EQ(run(lake.load_table(soon(), TableId(3))).error().reason(), kNoSuchTable);
}

TEST_F(Reader, says_which_tables_changed) {
  make_table();
  auto lake = reader();
  const LakeVersion first = *run(lake.version(soon()));
  auto changed = [&](LakeVersion since) -> std::optional<Ids> {
    auto tables = run(lake.changed_since(soon(), since))->tables;
    if (!tables) return std::nullopt;
    Ids ids;
    for (const auto& [id, at] : *tables) ids.push_back(id.value);
    return ids;
  };
  EXPECT_EQ(changed(first), Ids{});
  snapshot(2, "inserted_into_table:7,deleted_from_table:5");
  EXPECT_EQ(changed(first), (Ids{5, 7}));
  // A rename by DuckDB names the table as created.
  snapshot(3, "created_table:\"main\".\"renamed\"",
           "UPDATE ducklake_table SET end_snapshot = 3; INSERT INTO ducklake_table VALUES (1, "
           "gen_random_uuid(), 3, NULL, 0, 'renamed', 't/', true)");
  EXPECT_EQ(changed(first), (Ids{1, 5, 7}));
  exec(
      "UPDATE lakeproxy_state SET revision = revision + 1; INSERT INTO lakeproxy_table (table_id, "
      "revision, updated_ms) SELECT 9, revision, 0 FROM lakeproxy_state");
  EXPECT_EQ(changed(first), (Ids{1, 5, 7, 9}));
  const LakeVersion second = *run(lake.version(soon()));
  EXPECT_EQ(changed(second), Ids{});
  snapshot(4, "something_new:1");
  EXPECT_EQ(changed(second), std::nullopt) << "an entry that is not understood";
  const LakeVersion third = *run(lake.version(soon()));
  exec("DELETE FROM ducklake_snapshot WHERE snapshot_id = 2");
  EXPECT_EQ(changed(third), std::nullopt) << "snapshots were removed";
  EXPECT_EQ(changed(*run(lake.version(soon()))), Ids{});
  EXPECT_EQ(changed({.snapshot = SnapshotId(99), .revision = 1}), std::nullopt);
}

TEST_F(Reader, gives_up_on_a_long_history) {
  exec(
      "INSERT INTO ducklake_snapshot SELECT n, now(), 0, 1, 0 FROM generate_series(1, 10001) n; "
      "INSERT INTO ducklake_snapshot_changes SELECT n, 'inserted_into_table:3' FROM "
      "generate_series(1, 10001) n");
  auto lake = reader();
  EXPECT_FALSE(run(lake.changed_since(soon(), {.snapshot = SnapshotId(0), .revision = 1}))->tables);
  EXPECT_EQ(run(lake.changed_since(soon(), {.snapshot = SnapshotId(1), .revision = 1}))->tables,
            (std::map{std::pair{TableId(3), LakeVersion{.snapshot = SnapshotId(10001)}}}));
}

TEST_F(Reader, says_at_which_state_a_table_changed) {
  make_table();
  auto lake = reader();
  const LakeVersion since = *run(lake.version(soon()));
  snapshot(2, "inserted_into_table:7");
  snapshot(3, "inserted_into_table:5,deleted_from_table:7");
  snapshot(4, "inserted_into_table:5");
  exec(
      "UPDATE lakeproxy_state SET revision = revision + 1; INSERT INTO lakeproxy_table (table_id, "
      "revision, updated_ms) SELECT 7, revision, 0 FROM lakeproxy_state");
  const auto changed = *run(lake.changed_since(soon(), since))->tables;
  EXPECT_EQ(changed.at(TableId(5)), (LakeVersion{.snapshot = SnapshotId(4)}));
  EXPECT_EQ(changed.at(TableId(7)),
            (LakeVersion{.snapshot = SnapshotId(3), .revision = since.revision + 1}));
}

TEST_F(Reader, loads_a_table_that_duckdb_made) {
  make_table();
  exec("INSERT INTO ducklake_tag VALUES (1, 1, NULL, 'comment', 'hello')");
  const model::LakeTable table = load();
  EXPECT_EQ(table.name, "t");
  EXPECT_EQ(table.created, SnapshotId(1));
  EXPECT_EQ(table.version, (LakeVersion{.snapshot = SnapshotId(1), .revision = 1}));
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
      "INSERT INTO lakeproxy_table (table_id, revision, table_uuid, properties, refs, sort_orders, "
      "default_sort_order_id, last_partition_id, updated_ms) VALUES (1, 1, "
      "'22222222-2222-2222-2222-222222222222', '{\"lakeproxy.format-version\": \"3\", \"k\": "
      "\"v\"}', "
      "'{\"tag\": {\"snapshot-id\": 4, \"type\": \"tag\"}}', '[{\"order-id\": 0, \"fields\": "
      "[]}]', 0, "
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
  materialize(2, 0);
  EXPECT_EQ(pending(), (Ids{5, 6}));
  EXPECT_EQ(load().materialized.size(), 1);
  materialize(6, 0);
  EXPECT_EQ(pending(), Ids{});
}

TEST_F(Reader, a_snapshot_that_was_removed_is_stood_for_by_the_next) {
  make_table();
  snapshot(2, "inserted_into_table:1", data_file(1, 2));
  snapshot(3, "inserted_into_table:1", data_file(2, 3));
  snapshot(4, "inserted_into_table:9");
  snapshot(5, "inserted_into_table:1", data_file(3, 5));
  materialize(2, 0);
  exec("DELETE FROM ducklake_snapshot WHERE snapshot_id IN (0, 1, 2, 3)");
  EXPECT_TRUE(load().materialized.empty()) << "its snapshot is gone";
  EXPECT_EQ(pending(), (Ids{4, 5})) << "the rows of 3 are seen at 4";
}

TEST_F(Reader, maintenance_begins_an_epoch) {
  make_table();
  snapshot(2, "inserted_into_table:1", data_file(1, 2));
  materialize(2, 0);
  EXPECT_EQ(load().epoch, 0);
  snapshot(3, "created_table:\"main\".\"x,merge_adjacent:1\"");
  snapshot(4, "merge_adjacent:11,inline_flush:12");
  EXPECT_EQ(load().epoch, 0) << "other tables";
  for (const char* entry :
       {"merge_adjacent", "inline_flush", "flushed_inlined", "rewrite_delete", "compacted_table"}) {
    const int id = static_cast<int>(load().version.snapshot.value) + 1;
    snapshot(id, fmt::format("inline_flush:8,{}:1", entry));
    EXPECT_EQ(load().epoch, id) << entry;
    EXPECT_TRUE(load().materialized.empty());
    EXPECT_EQ(pending(), Ids{2});
  }
  materialize(2, static_cast<int>(load().epoch));
  EXPECT_EQ(load().materialized.size(), 1);
  EXPECT_EQ(pending(), Ids{});
}

TEST_F(Reader, snapshots_at_which_a_part_of_a_file_may_begin_are_pending) {
  make_table();
  for (int id : {2, 4, 6, 8}) {
    snapshot(id, "inlined_insert:1");
    snapshot(id + 1, "inserted_into_table:11,altered_table:1");
  }
  EXPECT_EQ(pending(), Ids{}) << "no file, no rows";
  exec(data_file(1, 2) + ";" + data_file(2, 4, "NULL", "8"));
  EXPECT_EQ(pending(), (Ids{2, 4, 6, 8}));
  exec("DELETE FROM ducklake_snapshot WHERE snapshot_id IN (4, 6)");
  exec("DELETE FROM ducklake_snapshot_changes WHERE snapshot_id IN (4, 6)");
  EXPECT_EQ(pending(), (Ids{2, 5, 7, 8})) << "the next that are kept stand for them";
}

TEST_F(Reader, snapshots_of_deletes_that_were_flushed_are_pending) {
  make_table();
  for (int id : {2, 3}) snapshot(id, "inlined_insert:1");
  for (int id : {4, 5, 6}) snapshot(id, "inlined_delete:1");
  snapshot(7, "inserted_into_table:11");
  exec(data_file(1, 2, "NULL", "3"));
  exec(
      "INSERT INTO ducklake_delete_file VALUES (2, 1, 4, NULL, 1, 'd.parquet', true, 'parquet', 2, "
      "100, 10, NULL, NULL)");
  snapshot(8, "inline_flush:1");
  EXPECT_EQ(pending(), (Ids{2, 3, 4, 5, 6})) << "its partial_max is not there";
}

TEST_F(Reader, the_newest_published_version_goes_before_a_lower_default) {
  make_table();
  snapshot(2, "inserted_into_table:1", data_file(1, 2));
  materialize(2, 0);
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

TEST_F(Reader, reads_the_files_of_a_range) {
  make_table();
  snapshot(2, "inserted_into_table:1",
           data_file(1, 2) +
               "; INSERT INTO ducklake_file_column_stats VALUES (1, 1, 1, 50, 10, 0, '1', '9', "
               "NULL, NULL); INSERT INTO lakeproxy_nan_count VALUES (1, 1, 0);"
               "INSERT INTO ducklake_file_partition_value VALUES (1, 1, 1, 'b'), (1, 1, 0, NULL);"
               "INSERT INTO lakeproxy_file VALUES (1, 1, 0, '[]', '{4,100}', 3, '\\x0102')");
  snapshot(3, "inserted_into_table:1",
           "INSERT INTO ducklake_data_file VALUES (2, 1, 3, NULL, NULL, 's3://else/g.parquet', "
           "false, 'parquet', 5, 500, 50, 10, NULL, NULL, NULL, NULL)");
  snapshot(4, "deleted_from_table:1",
           "INSERT INTO ducklake_delete_file VALUES (3, 1, 4, NULL, 1, 'd.puffin', true, 'puffin', "
           "2, 100, 10, NULL, NULL)");
  const model::LakeTable table = load();
  auto lake = reader();
  auto all = run(lake.read_changes(soon(), &table, std::nullopt, SnapshotId(4)));
  ASSERT_TRUE(all) << all.error().message() << all.error().detail();
  ASSERT_EQ(all->commits.size(), 3);
  EXPECT_EQ(all->commits[0].changes_made, "inserted_into_table:1");
  EXPECT_EQ(all->commits[0].committed_ms, 1767225720000 - 1000);
  ASSERT_EQ(all->data_files.size(), 2);
  const model::LakeDataFile& file = all->data_files.at(model::DataFileId(1));
  EXPECT_EQ(file.path, "s3://lake/data/main/t/f1.parquet");
  EXPECT_EQ(file.begin, SnapshotId(2));
  EXPECT_EQ(file.row_id_start, 0);
  ASSERT_EQ(file.stats.size(), 1);
  EXPECT_EQ(file.stats[0].max_value, "9");
  EXPECT_EQ(file.stats[0].nan_count, 0);
  EXPECT_EQ(file.partition_values, (std::vector<std::optional<std::string>>{std::nullopt, "b"}));
  ASSERT_TRUE(file.iceberg);
  EXPECT_EQ(file.iceberg->split_offsets, (Ids{4, 100}));
  EXPECT_EQ(file.iceberg->sort_order_id, 3);
  EXPECT_EQ(file.iceberg->key_metadata, "\x01\x02");
  EXPECT_EQ(all->data_files.at(model::DataFileId(2)).path, "s3://else/g.parquet");
  ASSERT_EQ(all->delete_files.size(), 1);
  EXPECT_EQ(all->delete_files[0].path, "s3://lake/data/main/t/d.puffin");

  auto last = run(lake.read_changes(soon(), &table, SnapshotId(3), SnapshotId(4)));
  ASSERT_TRUE(last);
  EXPECT_EQ(last->commits.size(), 1);
  EXPECT_EQ(last->data_files.size(), 1) << "the one that the delete file refers to";
  EXPECT_TRUE(last->data_files.contains(model::DataFileId(1)));

  exec("UPDATE ducklake_data_file SET file_format = 'orc' WHERE data_file_id = 2");
  auto orc = run(lake.read_changes(soon(), &table, std::nullopt, SnapshotId(4)));
  ASSERT_FALSE(orc);
  EXPECT_EQ(orc.error().kind(), ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace lake::ducklake
