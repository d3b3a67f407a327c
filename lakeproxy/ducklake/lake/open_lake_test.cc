#include "base/core/embedded_text.h"
#include "base/runtime/gather.h"
#include "lakeproxy/ducklake/lake/lake_fixture_test.h"
#include "lakeproxy/ducklake/read/lake_reader.h"

namespace base::embedded {
std::span<const Text> lake_tables();
}  // namespace base::embedded

namespace lake::ducklake {
namespace {

using base::ErrorKind;

class OpenLake : public LakeFixture {
 protected:
  [[nodiscard]] std::optional<ErrorKind> failure() {
    auto opened = run(open_lake(soon(), *pool_, options_));
    return opened ? std::nullopt : std::optional(opened.error().kind());
  }
};

TEST_F(OpenLake, makes_a_lake_of_version_1_0) {
  open();
  EXPECT_EQ(text("SELECT count(*) FROM pg_tables WHERE schemaname = 'lk' AND tablename LIKE "
                 "'ducklake\\_%'"),
            "28");
  EXPECT_EQ(
      text("SELECT string_agg(key || '=' || value, ' ' ORDER BY key) FROM lk.ducklake_metadata"),
      "created_by=lakeproxy data_path=s3://lake/data/ encrypted=false version=1.0");
  EXPECT_EQ(text("SELECT changes_made FROM lk.ducklake_snapshot_changes"),
            "created_schema:\"main\"");
  LakeReader reader(*pool_, options_);
  auto version = run(reader.version(soon()));
  ASSERT_TRUE(version);
  EXPECT_EQ(version->snapshot, model::SnapshotId(0));
}

TEST_F(OpenLake, changes_nothing_the_second_time) {
  open();
  snapshot(1, "created_schema:\"s\"");
  open();
  EXPECT_EQ(text("SELECT max(snapshot_id) FROM lk.ducklake_snapshot"), "1");
}

TEST_F(OpenLake, takes_a_schema_that_exists) {
  auto made = run(pool_->script(soon(), "CREATE SCHEMA lk"));
  ASSERT_TRUE(made);
  open();
}

TEST_F(OpenLake, several_at_once_make_one_lake) {
  std::vector<std::unique_ptr<base::pg::Pool>> pools;
  std::vector<base::Task<base::Result<void>>> tasks;
  for (int i = 0; i < 4; ++i) {
    pools.push_back(make_pool());
    tasks.push_back(open_lake(soon(), *pools.back(), options_));
  }
  auto opened = run(base::gather(std::move(tasks)));
  for (auto& result : opened) EXPECT_TRUE(result) << result.error().detail();
  EXPECT_EQ(text("SELECT count(*) FROM lk.ducklake_schema"), "1");
}

TEST_F(OpenLake, refuses_what_it_does_not_understand) {
  open();
  exec("UPDATE ducklake_metadata SET value = '0.4' WHERE key = 'version'");
  EXPECT_EQ(failure(), std::nullopt);
  for (const char* version : {"0.3", "1.1-dev1", "2.0", ""}) {
    exec(fmt::format("UPDATE ducklake_metadata SET value = '{}' WHERE key = 'version'", version));
    EXPECT_EQ(failure(), ErrorKind::kUnsupported) << version;
  }
  exec("UPDATE ducklake_metadata SET value = '1.1-dev1' WHERE key = 'version'");
  EXPECT_NE(run(open_lake(soon(), *pool_, options_)).error().message().find("DuckDB 2.0"),
            std::string::npos)
      << "the way out";
  exec("UPDATE ducklake_metadata SET value = '1.0' WHERE key = 'version'");
  exec("UPDATE ducklake_metadata SET value = 'true' WHERE key = 'encrypted'");
  EXPECT_EQ(failure(), ErrorKind::kUnsupported);
}

TEST_F(OpenLake, takes_a_lake_that_was_migrated_to_1_1) {
  open();
  migrate_to_1_1();
  open();
  LakeReader reader(*pool_, options_);
  EXPECT_EQ(run(reader.version(soon()))->format, model::LakeFormat::k1_1);
}

TEST_F(OpenLake, a_lake_of_1_1_has_all_that_1_1_has) {
  open();
  exec("UPDATE ducklake_metadata SET value = '1.1' WHERE key = 'version'");
  auto opened = run(open_lake(soon(), *pool_, options_));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind(), ErrorKind::kCorrupt);
  for (const char* part : {"ducklake_data_file.row_group_count", "ducklake_schema.parent_schema_id",
                           "ducklake_view_column_tag.view_id"}) {
    EXPECT_NE(opened.error().message().find(part), std::string::npos) << part;
  }
  migrate_to_1_1();
  exec("ALTER TABLE ducklake_schema DROP parent_schema_id");
  opened = run(open_lake(soon(), *pool_, options_));
  ASSERT_FALSE(opened);
  EXPECT_TRUE(opened.error().message().ends_with("lacks ducklake_schema.parent_schema_id"));
}

// As an unreleased DuckLake rebuilds the table of options.
TEST_F(OpenLake, takes_options_with_a_scope_and_a_history) {
  open();
  exec(
      "ALTER TABLE ducklake_metadata ADD end_snapshot bigint;"
      "UPDATE ducklake_metadata SET scope = 'global';"
      "INSERT INTO ducklake_metadata VALUES ('expire_older_than', '1 day', 'global', NULL, 3), "
      "('expire_older_than', '2 days', 'global', NULL, NULL)");
  open();
  EXPECT_EQ(ask("SELECT @lakeproxy_lake_option('data_path')"), "s3://lake/data/");
  EXPECT_EQ(ask("SELECT @lakeproxy_lake_option('expire_older_than')"), "2 days");
}

TEST_F(OpenLake, refuses_another_data_path) {
  open();
  options_.data_path = "s3://other/";
  auto opened = run(open_lake(soon(), *pool_, options_));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind(), ErrorKind::kConflict);
  EXPECT_NE(opened.error().message().find("s3://lake/data/"), std::string::npos);
  EXPECT_NE(opened.error().message().find("s3://other/"), std::string::npos);
}

TEST_F(OpenLake, refuses_names_that_are_no_plain_identifiers) {
  for (const char* schema : {"", "Lake", "1a", "a-b", "a\"b", "a b", "\xc3\xa9"}) {
    options_.metadata_schema = schema;
    EXPECT_EQ(failure(), ErrorKind::kInvalid) << schema;
  }
  options_.metadata_schema = std::string(64, 'a');
  EXPECT_EQ(failure(), ErrorKind::kInvalid);
  options_.metadata_schema = std::string(63, 'a');
  EXPECT_EQ(failure(), std::nullopt);
  options_ = {.catalog = "lake", .metadata_schema = "lk", .data_path = "s3://lake/data"};
  EXPECT_EQ(failure(), ErrorKind::kInvalid);
}

// A lake that DuckDB made, before any server of ours has seen it.
class FirstOpening : public OpenLake {
 protected:
  void SetUp() override {
    std::string script = "CREATE SCHEMA lk; SET search_path TO lk;\n";
    for (const auto& tables : base::embedded::lake_tables()) script += tables.text;
    ASSERT_TRUE(run(pool_->script(soon(), script)));
    exec(
        "INSERT INTO ducklake_snapshot VALUES (0, now(), 0, 1, 0);"
        "INSERT INTO ducklake_snapshot_changes VALUES (0, '', NULL, NULL, NULL);"
        "INSERT INTO ducklake_metadata (key, value) VALUES ('version', '1.0'), ('data_path', "
        "'s3://lake/data/'), ('encrypted', 'false');"
        "INSERT INTO ducklake_schema VALUES (0, gen_random_uuid(), 0, NULL, 'main', 'main/', "
        "true)");
  }
  void fill_files() {
    exec(
        "INSERT INTO ducklake_data_file (data_file_id, table_id, begin_snapshot, path, "
        "path_is_relative) SELECT i, 1, 1, 'folder/' || repeat('x', 100) || i, true FROM "
        "generate_series(1, 110000) AS i");
    ASSERT_GT(std::stoll(text("SELECT pg_relation_size('lk.ducklake_data_file')")),
              base::pg::kLargeTable);
  }
  std::vector<std::string> open_told() {
    std::vector<std::string> indexes;
    auto opened = run(open_lake(soon(), *pool_, options_, [&](std::string_view step) {
      if (step.starts_with("index ")) indexes.emplace_back(step.substr(6));
    }));
    EXPECT_TRUE(opened) << opened.error().message() << ": " << opened.error().detail();
    return indexes;
  }
  /// Names and definitions of all our indexes.
  std::string indexes() {
    return text(
        "SELECT string_agg(pg_get_indexdef(indexrelid) || ' ' || indisvalid, E'\\n' ORDER BY "
        "relname) "
        "FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE relnamespace = "
        "'lk'::regnamespace");
  }
};

TEST_F(FirstOpening, indexes_of_a_large_table_are_built_before_the_migration) {
  fill_files();
  EXPECT_EQ(open_told(),
            (std::vector<std::string>{"lakeproxy_data_file_begin", "lakeproxy_data_file_end",
                                      "lakeproxy_data_file_name", "lakeproxy_data_file_partial"}));
  const std::string large = indexes();
  exec("DROP SCHEMA lk CASCADE");
  SetUp();
  EXPECT_EQ(open_told(), std::vector<std::string>{}) << "small tables: in the migration";
  EXPECT_EQ(indexes(), large) << "either way they are the same";
}

TEST_F(FirstOpening, one_that_was_cut_off_behind_an_index_is_done_by_the_next) {
  fill_files();
  exec(
      "CREATE FUNCTION lakeproxy_object_name(path text) RETURNS text LANGUAGE sql IMMUTABLE STRICT "
      "PARALLEL SAFE AS $$ SELECT substring(path FROM '[^/]*$') $$;"
      "CREATE INDEX lakeproxy_data_file_name ON ducklake_data_file (lakeproxy_object_name(path));"
      "CREATE INDEX lakeproxy_data_file_partial ON ducklake_data_file (table_id, partial_max) "
      "WHERE partial_max IS NOT NULL");
  EXPECT_EQ(open_told(),
            (std::vector<std::string>{"lakeproxy_data_file_begin", "lakeproxy_data_file_end"}));
}

std::vector<base::pg::Query> queries(std::initializer_list<const char*> statements) {
  std::vector<base::pg::Query> list;
  for (const char* sql : statements) list.push_back({{sql}, {}});
  return list;
}

// The rest of a commit whose first statement has run, once somebody waits for it.
base::Task<base::Result<void>> end_when_waited_for(base::pg::Transaction* commit) {
  for (bool waited_for = false; !waited_for;) {
    auto look =
        queries({"SELECT EXISTS (SELECT 1 FROM pg_locks WHERE pg_backend_pid() = ANY "
                 "(pg_blocking_pids(pid)))"});
    CO_ASSIGN_OR_RETURN(auto rows, co_await commit->run(std::move(look)));
    waited_for = rows.front()->boolean(0, 0);
  }
  auto rest =
      queries({"INSERT INTO lk.ducklake_data_file (data_file_id, table_id) VALUES (1, 1)",
               "INSERT INTO lk.ducklake_column (column_id, table_id) VALUES (1, 1)",
               "INSERT INTO lk.ducklake_snapshot_changes VALUES (1, '', NULL, NULL, NULL)"});
  CO_RETURN_IF_ERROR(co_await commit->run_and_commit(std::move(rest)));
  co_return base::Status{};
}

TEST_F(FirstOpening, waits_for_a_commit_of_duckdb_that_does_not_wait_for_it) {
  auto duckdb = make_pool();
  auto begun = run(duckdb->begin(
      soon(), queries({"INSERT INTO lk.ducklake_snapshot VALUES (1, now(), 0, 1, 0)"})));
  ASSERT_TRUE(begun);
  std::vector<base::Task<base::Result<void>>> tasks;
  tasks.push_back(open_lake(soon(), *pool_, options_));
  tasks.push_back(end_when_waited_for(begun->transaction.get()));
  for (auto& done : run(base::gather(std::move(tasks)))) {
    EXPECT_TRUE(done) << done.error().message() << ": " << done.error().detail();
  }
}

TEST_F(FirstOpening, the_schema_is_migration_1_and_another_text_of_it_is_refused) {
  open();
  EXPECT_EQ(text("SELECT string_agg(version::text, ' ') FROM lk.lakeproxy_migrations"), "1");
  exec("UPDATE lakeproxy_migrations SET checksum = repeat('0', 64)");
  EXPECT_EQ(failure(), ErrorKind::kCorrupt);
}

// One object under two rows; `path` is what is scheduled.
class ScheduledFiles : public LakeFixture {
 protected:
  void SetUp() override {
    open();
    exec(
        "INSERT INTO ducklake_table VALUES (1, gen_random_uuid(), 1, NULL, 0, 't', 't/', true);"
        "INSERT INTO ducklake_snapshot VALUES (5, now(), 0, 1, 0)");
  }
  void add_row(int id, const std::string& path, bool relative, const std::string& end) {
    exec(
        fmt::format("INSERT INTO ducklake_data_file (data_file_id, table_id, begin_snapshot, "
                    "end_snapshot, path, path_is_relative) VALUES ({}, 1, 1, {}, '{}', {})",
                    id, end, path, relative));
  }
  bool is_scheduled(int id, const std::string& path, bool relative) {
    exec(
        fmt::format("DELETE FROM ducklake_files_scheduled_for_deletion; INSERT INTO "
                    "ducklake_files_scheduled_for_deletion VALUES ({}, '{}', {}, now())",
                    id, path, relative));
    return text("SELECT count(*) FROM lk.ducklake_files_scheduled_for_deletion") == "1";
  }
};

TEST_F(ScheduledFiles, an_object_that_another_row_shows_is_kept) {
  add_row(1, "f.parquet", true, "3");
  add_row(2, "f.parquet", true, "NULL");
  EXPECT_FALSE(is_scheduled(1, "main/t/f.parquet", true));
  EXPECT_FALSE(is_scheduled(1, "s3://lake/data/main/t/f.parquet", false));
}

TEST_F(ScheduledFiles, absolute_and_relative_paths_name_one_object) {
  add_row(2, "s3://lake/data/main/t/f.parquet", false, "NULL");
  EXPECT_FALSE(is_scheduled(1, "main/t/f.parquet", true));
}

TEST_F(ScheduledFiles, an_object_that_a_kept_snapshot_shows_is_kept) {
  add_row(2, "f.parquet", true, "6");
  EXPECT_FALSE(is_scheduled(1, "main/t/f.parquet", true));
}

TEST_F(ScheduledFiles, a_delete_file_is_kept_too) {
  exec(
      "INSERT INTO ducklake_delete_file (delete_file_id, table_id, begin_snapshot, path, "
      "path_is_relative) VALUES (7, 1, 1, 'd.parquet', true)");
  EXPECT_FALSE(is_scheduled(1, "main/t/d.parquet", true));
  EXPECT_TRUE(is_scheduled(7, "main/t/d.parquet", true)) << "the row itself does not count";
}

TEST_F(ScheduledFiles, a_file_elsewhere_that_a_client_recorded_is_never_removed) {
  exec("INSERT INTO lakeproxy_file (data_file_id, table_id) VALUES (1, 1)");
  for (const char* place : {"/etc/passwd", "file:///etc/passwd", "../../f.parquet",
                            "s3://other/f.parquet", "s3://lake/dat", "s3://lake/other/f.parquet"}) {
    EXPECT_FALSE(is_scheduled(1, place, false)) << place;
    EXPECT_TRUE(is_scheduled(2, place, false)) << place << ": one that DuckDB added";
  }
  EXPECT_TRUE(is_scheduled(1, "s3://lake/data/main/t/f.parquet", false));
  EXPECT_TRUE(is_scheduled(1, "main/t/f.parquet", true));
}

// Files 1 and 2 of a table whose snapshots 1 and 2 are published; DuckDB merges them at 6.
class KeptFiles : public ScheduledFiles {
 protected:
  void merge() {
    add_row(1, "f.parquet", true, "NULL");
    add_row(2, "g.parquet", true, "NULL");
    exec(
        "INSERT INTO ducklake_snapshot VALUES (1, now(), 0, 1, 0), (2, now(), 0, 1, 0), (6, "
        "now(), 0, 1, 0);"
        "UPDATE ducklake_data_file SET begin_snapshot = 2 WHERE data_file_id = 2");
    publish(1);
    publish(2);
    exec(
        "DELETE FROM ducklake_data_file WHERE data_file_id IN (1, 2); "
        "INSERT INTO ducklake_files_scheduled_for_deletion VALUES (1, 'main/t/f.parquet', true, "
        "now()), (2, 'main/t/g.parquet', true, now())");
  }
  void publish(int snapshot) {
    exec(
        fmt::format("INSERT INTO lakeproxy_snapshot (table_id, snapshot_id, snapshot_json) "
                    "VALUES (1, {}, '{{}}')",
                    snapshot));
  }
  void release() { exec("SELECT lakeproxy_release_files(1)"); }
  std::string kept() {
    return text(
        "SELECT coalesce(string_agg(data_file_id::text, ' ' ORDER BY data_file_id), '-') FROM "
        "lk.ducklake_files_scheduled_for_deletion WHERE schedule_start > '9000-01-01'");
  }
  std::string published() {
    return text(
        "SELECT string_agg(snapshot_id::text, ' ' ORDER BY snapshot_id) FROM "
        "lk.lakeproxy_snapshot");
  }
};

TEST_F(KeptFiles, what_published_snapshots_name_is_kept_until_they_expire) {
  merge();
  EXPECT_EQ(kept(), "1 2");
  publish(6);
  release();
  EXPECT_EQ(kept(), "1 2");
  exec("DELETE FROM ducklake_snapshot WHERE snapshot_id = 1");
  EXPECT_EQ(kept(), "1 2") << "2 names both";
  exec("DELETE FROM ducklake_snapshot WHERE snapshot_id = 2");
  EXPECT_EQ(kept(), "-");
  EXPECT_EQ(text("SELECT count(*) FROM lk.ducklake_files_scheduled_for_deletion WHERE "
                 "schedule_start <= now()"),
            "2");
  EXPECT_EQ(text("SELECT count(*) FROM lk.lakeproxy_kept_file"), "0");
}

TEST_F(KeptFiles, a_client_that_removes_snapshots_lets_go_of_their_files) {
  merge();
  publish(6);
  exec("INSERT INTO lakeproxy_table (table_id, revision, updated_ms) VALUES (1, 1, 1)");
  exec(R"(UPDATE lakeproxy_table SET out_of_sight = '{"snapshots": [[1, 1]]}')");
  EXPECT_EQ(kept(), "1 2");
  exec(R"(UPDATE lakeproxy_table SET out_of_sight = '{"snapshots": [[1, 2]]}')");
  EXPECT_EQ(kept(), "-");
}

TEST_F(KeptFiles, files_stay_until_a_snapshot_without_them_is_published) {
  merge();
  exec("DELETE FROM lakeproxy_snapshot");
  release();
  EXPECT_EQ(kept(), "1 2") << "a snapshot with them may be on its way";
  publish(6);
  release();
  EXPECT_EQ(kept(), "-");
}

TEST_F(KeptFiles, a_forced_clean_up_hides_the_snapshots_that_named_them) {
  merge();
  publish(6);
  const std::string before = text("SELECT snapshots_removed_revision FROM lk.lakeproxy_state");
  exec("DELETE FROM ducklake_files_scheduled_for_deletion WHERE data_file_id = 2");
  EXPECT_EQ(published(), "1 6") << "1 names the other file alone";
  EXPECT_NE(text("SELECT snapshots_removed_revision FROM lk.lakeproxy_state"), before);
  exec("DELETE FROM ducklake_files_scheduled_for_deletion");
  EXPECT_EQ(published(), "6");
}

TEST_F(KeptFiles, a_file_that_no_snapshot_needs_is_not_kept) {
  add_row(1, "f.parquet", true, "3");
  exec(
      "DELETE FROM ducklake_snapshot WHERE snapshot_id < 5; DELETE FROM ducklake_data_file; "
      "INSERT INTO ducklake_files_scheduled_for_deletion VALUES (1, 'main/t/f.parquet', true, "
      "now())");
  EXPECT_EQ(kept(), "-");
  EXPECT_EQ(text("SELECT count(*) FROM lk.ducklake_files_scheduled_for_deletion"), "1");
}

TEST_F(KeptFiles, a_clients_file_elsewhere_is_known_until_its_snapshots_go_and_never_removed) {
  const auto entries = [&] {
    return text("SELECT count(*) FROM lk.ducklake_files_scheduled_for_deletion");
  };
  add_row(1, "s3://lake/data/elsewhere/f.parquet", false, "NULL");
  add_row(2, "s3://lake/data/elsewhere/g", false, "NULL");
  add_row(3, "s3://other/f.parquet", false, "NULL");
  exec(
      "INSERT INTO lakeproxy_file (data_file_id, table_id) VALUES (1, 1), (2, 1), (3, 1);"
      "INSERT INTO ducklake_snapshot VALUES (1, now(), 0, 1, 0), (6, now(), 0, 1, 0)");
  publish(1);
  exec(
      "DELETE FROM ducklake_data_file; "
      "INSERT INTO ducklake_files_scheduled_for_deletion VALUES (1, 'elsewhere/f.parquet', true, "
      "now()), (2, 'elsewhere/g', true, now()), (3, 's3://other/f.parquet', false, now())");
  EXPECT_EQ(kept(), "1") << "the removal of orphans would take it, and not the others";
  EXPECT_EQ(entries(), "1");
  publish(6);
  release();
  EXPECT_EQ(entries(), "1") << "1 names it";
  exec("DELETE FROM ducklake_snapshot WHERE snapshot_id = 1");
  EXPECT_EQ(entries(), "0");
  EXPECT_EQ(published(), "1 6") << "nobody forced anything";
  EXPECT_EQ(text("SELECT count(*) FROM lk.lakeproxy_kept_file"), "0");
}

TEST_F(KeptFiles, files_of_an_unregistered_table_stay_until_it_is_registered) {
  merge();
  publish(6);
  exec("INSERT INTO lakeproxy_unregistered VALUES (1, 's3://lake/data/main/t/')");
  exec("DELETE FROM ducklake_snapshot WHERE snapshot_id < 5");
  EXPECT_EQ(kept(), "1 2");
  exec("DELETE FROM lakeproxy_unregistered");
  release();
  EXPECT_EQ(kept(), "-");
}

TEST_F(KeptFiles, an_object_that_came_back_is_not_removed_with_them) {
  merge();
  publish(6);
  add_row(9, "f.parquet", true, "NULL");
  exec("DELETE FROM ducklake_snapshot WHERE snapshot_id < 5");
  EXPECT_EQ(text("SELECT string_agg(data_file_id::text, ' ') FROM "
                 "lk.ducklake_files_scheduled_for_deletion"),
            "2");
}

TEST_F(ScheduledFiles, what_a_client_recorded_goes_only_from_its_own_tables_folder) {
  exec(
      "INSERT INTO lakeproxy_file (data_file_id, table_id) VALUES (1, 1), (3, 3), (4, 4);"
      "INSERT INTO ducklake_table VALUES (2, gen_random_uuid(), 1, NULL, 0, 'u', 'u/', true), "
      "(3, gen_random_uuid(), 1, NULL, 0, 'all', 's3://lake/data/', false)");
  for (const char* place : {"main/u/f.parquet", "main/u/metadata/v1.json", "f.parquet",
                            "main/tt/f.parquet", "other/t/f.parquet"}) {
    EXPECT_FALSE(is_scheduled(1, place, true)) << place;
    EXPECT_TRUE(is_scheduled(2, place, true)) << place << ": one that DuckDB added";
  }
  EXPECT_TRUE(is_scheduled(1, "main/t/data/f.parquet", true));
  // A table around the others has what is in none of them.
  EXPECT_TRUE(is_scheduled(3, "data/f.parquet", true));
  EXPECT_TRUE(is_scheduled(3, "main/v/f.parquet", true));
  EXPECT_FALSE(is_scheduled(3, "main/u/f.parquet", true));
  EXPECT_FALSE(is_scheduled(4, "data/f.parquet", true)) << "nobody knows its table";
  // Its own goes with the table, too.
  exec("UPDATE ducklake_table SET end_snapshot = 3 WHERE table_id = 1");
  EXPECT_TRUE(is_scheduled(1, "main/t/f.parquet", true));
  EXPECT_FALSE(is_scheduled(1, "main/u/f.parquet", true));
}

TEST_F(ScheduledFiles, other_objects_go) {
  add_row(1, "f.parquet", true, "NULL");
  add_row(2, "g.parquet", true, "NULL");
  add_row(3, "sub/f.parquet", true, "NULL");
  add_row(4, "dead.parquet", true, "5");
  EXPECT_TRUE(is_scheduled(1, "main/t/f.parquet", true)) << "its own row";
  EXPECT_TRUE(is_scheduled(9, "main/u/f.parquet", true)) << "another folder";
  EXPECT_TRUE(is_scheduled(9, "main/t/dead.parquet", true)) << "no snapshot shows it";
  EXPECT_TRUE(is_scheduled(9, "main/t/never.parquet", true));
}

}  // namespace
}  // namespace lake::ducklake
