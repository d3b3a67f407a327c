#include "lakeproxy/ducklake/lake/lake_fixture_test.h"
#include "lakeproxy/ducklake/maintenance/upkeep.h"

namespace lake::ducklake {
namespace {

using Objects = std::vector<std::string>;
using Found = std::set<std::string>;

// A lake with rows as DuckDB writes them: tables 1 ("a"), 2 ("ab"), 3 ("a/in").
class Upkeep : public LakeFixture {
 protected:
  void SetUp() override {
    open();
    for (const char* name : {"a", "ab", "a/in"}) {
      ++tables_;
      snapshot(tables_, "created_table:\"main\".\"x\"",
               fmt::format("INSERT INTO ducklake_table VALUES ({0}, gen_random_uuid(), {0}, NULL, "
                           "0, 't{0}', '{1}/', true)",
                           tables_, name));
    }
  }

  void add_file(std::int64_t id, std::int64_t table, const std::string& path, bool relative = true,
                const std::string& end = "NULL") {
    exec(
        fmt::format("INSERT INTO ducklake_data_file VALUES ({}, {}, 1, {}, 0, '{}', {}, "
                    "'parquet', 1, 1, 1, 0, NULL, NULL, NULL, NULL)",
                    id, table, end, path, relative));
  }
  LakeUpkeep upkeep() { return {*pool_, options_}; }
  Found named(Objects objects) {
    auto found = run(upkeep().named(soon(), std::move(objects)));
    EXPECT_TRUE(found) << found.error().detail();
    return found ? *found : Found{};
  }
  PurgeBounds bounds(std::int64_t table, const std::string& folder, Objects objects) {
    auto found =
        run(upkeep().purge_bounds(soon(), {model::TableId(table), folder, {}}, std::move(objects)));
    EXPECT_TRUE(found) << found.error().detail();
    return found ? *found : PurgeBounds{.shared = true, .needed = {}};
  }

  std::int64_t tables_ = 0;
};

constexpr auto kMain = "s3://lake/data/main/";

std::string at(const std::string& path) { return kMain + path; }

TEST_F(Upkeep, rows_of_files_name_their_objects_wherever_they_stand) {
  add_file(10, 1, "x.parquet");
  add_file(11, 1, "s3://lake/data/other/y.parquet", false);
  add_file(12, 1, "dead.parquet", true, "2");
  exec(
      "INSERT INTO ducklake_delete_file VALUES (13, 1, 1, NULL, 10, 'd.parquet', true, 'parquet', "
      "1, 1, 1, NULL, NULL)");
  EXPECT_EQ(named({at("a/x.parquet"), at("ab/x.parquet"), "s3://lake/data/other/y.parquet",
                   at("a/dead.parquet"), at("a/d.parquet"), at("a/orphan.parquet")}),
            (Found{at("a/x.parquet"), "s3://lake/data/other/y.parquet", at("a/dead.parquet"),
                   at("a/d.parquet")}));
}

TEST_F(Upkeep, scheduled_deletions_and_metadata_files_are_named) {
  exec(
      "INSERT INTO ducklake_files_scheduled_for_deletion VALUES (20, 'main/a/s.parquet', true, "
      "now()), (21, 's3://lake/data/t.parquet', false, now());"
      "INSERT INTO lakeproxy_metadata_log VALUES (1, 1, 0, 's3://lake/data/main/a/m.json'), (99, "
      "1, 0, 's3://lake/data/main/gone/m.json')");
  EXPECT_EQ(named({at("a/s.parquet"), "s3://lake/data/t.parquet", at("a/m.json"), at("gone/m.json"),
                   at("s.parquet")}),
            (Found{at("a/s.parquet"), "s3://lake/data/t.parquet", at("a/m.json")}))
      << "the metadata of a table without a row is nobody's";
}

TEST_F(Upkeep, what_is_recorded_may_be_neither_replaced_nor_removed) {
  auto recorded = [&](Objects objects) {
    return run(upkeep().recorded(soon(), std::move(objects))).value();
  };
  add_file(10, 1, "x.parquet");
  add_file(11, 2, "s3a://lake/data/main/a/theirs.parquet", false);
  exec(
      "INSERT INTO ducklake_files_scheduled_for_deletion VALUES (20, 'main/a/s.parquet', true, "
      "now()); INSERT INTO lakeproxy_kept_file VALUES (21, 1, '" +
      at("a/kept.parquet") + "', 1, 2)");
  EXPECT_EQ(
      recorded({at("a/x.parquet"), at("a/theirs.parquet"), at("a/s.parquet"), at("a/kept.parquet"),
                at("a/new.parquet"), at("ab/x.parquet")}),
      (Found{at("a/x.parquet"), at("a/theirs.parquet"), at("a/s.parquet"), at("a/kept.parquet")}));
  EXPECT_EQ(recorded({}), Found{});
}

TEST_F(Upkeep, an_object_is_of_the_innermost_live_table) {
  auto table = [&](const std::string& object) {
    auto found = run(upkeep().table_of(soon(), object)).value();
    return found ? found->name_space.display() + "." + found->name : std::string("none");
  };
  EXPECT_EQ(table(at("a/data/x.parquet")), "main.t1");
  EXPECT_EQ(table("s3a" + at("a/x").substr(2)), "main.t1");
  EXPECT_EQ(table(at("a/in/x.parquet")), "main.t3") << "it lies in the other";
  EXPECT_EQ(table(at("abc/x.parquet")), "none") << "not a whole segment";
  EXPECT_EQ(table(at("a")), "none");
  EXPECT_EQ(table("s3://other/data/main/a/x"), "none");
  exec("UPDATE ducklake_table SET end_snapshot = 4 WHERE table_id = 3");
  EXPECT_EQ(table(at("a/in/x.parquet")), "none") << "the folder of a dropped one that is kept";
  exec("UPDATE ducklake_table SET path = 'a/' WHERE table_id = 2");
  EXPECT_EQ(table(at("a/x.parquet")), "none") << "whose of two it is nobody knows";
}

TEST_F(Upkeep, a_purge_leaves_what_others_name_and_what_stands_in_their_folders) {
  add_file(10, 1, "mine.parquet");
  add_file(11, 2, "s3://lake/data/main/a/theirs.parquet", false);
  PurgeBounds found = bounds(1, at("a/"),
                             {at("a/mine.parquet"), at("a/theirs.parquet"), at("a/in/unnamed"),
                              at("a/inner"), at("a/unnamed")});
  EXPECT_FALSE(found.shared);
  EXPECT_EQ(found.needed, (Found{at("a/theirs.parquet"), at("a/in/unnamed")}));
}

TEST_F(Upkeep, a_folder_is_shared_by_its_own_and_outer_tables_of_kept_snapshots) {
  EXPECT_FALSE(bounds(1, at("a/"), {}).shared);
  EXPECT_FALSE(bounds(2, at("ab/"), {}).shared);
  EXPECT_TRUE(bounds(3, at("a/in/"), {}).shared) << "a/ is around it";
  exec("UPDATE ducklake_table SET end_snapshot = 3 WHERE table_id = 1");
  EXPECT_TRUE(bounds(3, at("a/in/"), {}).shared) << "snapshot 2 still shows a/";
  exec("DELETE FROM ducklake_snapshot WHERE snapshot_id < 3");
  EXPECT_FALSE(bounds(3, at("a/in/"), {}).shared);
}

TEST_F(Upkeep, folders_of_others_are_told_from_those_that_a_namespace_shares) {
  auto others = [&](std::optional<std::int64_t> table, const std::string& folder) {
    auto id = table ? std::optional(model::TableId(*table)) : std::nullopt;
    return run(upkeep().other_folders(soon(), id, folder)).value();
  };
  EXPECT_EQ(others(1, at("a")), (Objects{at("a/in/")}));
  EXPECT_EQ(others(2, at("ab/")), Objects{});
  EXPECT_EQ(others(3, at("a/in/")), Objects{}) << "a/ is around it";
  EXPECT_EQ(others(std::nullopt, at("a/in/")), (Objects{at("a/in/")}));
  exec("UPDATE ducklake_table SET path = 'a/' WHERE table_id = 2");
  EXPECT_EQ(others(1, at("a/")), (Objects{at("a/in/")})) << "one of the namespace has it";
  exec("UPDATE ducklake_table SET end_snapshot = 3 WHERE table_id = 2");
  EXPECT_EQ(others(1, at("a/")), (Objects{at("a/in/")})) << "a dropped one of the namespace";
  exec(
      "INSERT INTO ducklake_schema VALUES (77, gen_random_uuid(), 1, NULL, 'other', "
      "'s3://lake/data/main/', false); UPDATE ducklake_table SET schema_id = 77 WHERE table_id = "
      "2");
  EXPECT_EQ(others(1, at("a/")), (Objects{at("a/"), at("a/in/")})) << "who reads it may not that";
}

TEST_F(Upkeep, a_list_that_is_replaced_or_forgotten_stays_known_for_a_time) {
  exec(
      "INSERT INTO lakeproxy_snapshot VALUES (1, 1, '{\"manifest-list\": \"one\"}'), (1, 2, "
      "'{\"manifest-list\": \"two\"}'), (1, 0, '{\"manifest-list\": \"expired\"}'), (99, 3, "
      "'{\"manifest-list\": \"dropped\"}')");
  ListMark mark;
  auto lists = run(upkeep().manifest_lists(soon(), &mark));
  ASSERT_TRUE(lists);
  EXPECT_EQ(*lists, (Objects{"expired", "one", "two", "dropped"}));
  EXPECT_TRUE(run(upkeep().manifest_lists(soon(), &mark))->empty());

  exec("DELETE FROM ducklake_snapshot WHERE snapshot_id = 0");
  const base::WallTime long_ago{};
  const base::WallTime later = base::SystemClock().now() + std::chrono::hours(1);
  exec(
      "UPDATE lakeproxy_snapshot SET snapshot_json = '{\"manifest-list\": \"new\"}' WHERE "
      "snapshot_id = 1; UPDATE lakeproxy_snapshot SET format_version = 3 WHERE snapshot_id = 2");
  ASSERT_TRUE(run(upkeep().forget_expired(soon(), long_ago)));
  auto superseded = run(upkeep().lists_superseded(soon(), long_ago));
  ASSERT_TRUE(superseded);
  EXPECT_EQ(Found(superseded->begin(), superseded->end()), (Found{"dropped", "expired", "one"}));
  EXPECT_TRUE(run(upkeep().lists_superseded(soon(), later))->empty());
  auto recorded = run(upkeep().lists_recorded(soon(), long_ago));
  EXPECT_EQ(Found(recorded->begin(), recorded->end()), (Found{"new", "two"}));
  EXPECT_TRUE(run(upkeep().lists_recorded(soon(), later))->empty());
  ASSERT_TRUE(run(upkeep().forget_expired(soon(), later)));
  EXPECT_TRUE(run(upkeep().lists_superseded(soon(), long_ago))->empty());
}

TEST_F(Upkeep, a_lake_that_is_not_ours_or_not_there_is_refused) {
  EXPECT_TRUE(run(upkeep().check_opened(soon())));
  LakeOptions elsewhere = options_;
  elsewhere.data_path = "s3://lake/other/";
  EXPECT_EQ(run(LakeUpkeep(*pool_, elsewhere).check_opened(soon())).error().kind(),
            base::ErrorKind::kConflict);
  LakeOptions nowhere = options_;
  nowhere.metadata_schema = "nothing_here";
  EXPECT_EQ(run(LakeUpkeep(*pool_, nowhere).check_opened(soon())).error().kind(),
            base::ErrorKind::kNotFound);
}

}  // namespace
}  // namespace lake::ducklake
