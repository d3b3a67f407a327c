#include <gmock/gmock.h>

#include "lakeproxy/ducklake/lake/lake_fixture_test.h"
#include "lakeproxy/ducklake/lake/lake_upgrade.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using model::LakeFormat;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LakeUpgrade : public LakeFixture {
 protected:
  LakeUpgrade() {
    base::pg::PoolOptions options;
    auto& server = base::testing::PostgresServer::shared();
    options.host = server.host();
    options.port = fmt::to_string(server.port());
    options.user = server.user();
    options.database = database_;
    options.connections = 1;
    own_ = base::pg::Pool::create(std::move(options));
  }
  LakeInspection inspect() {
    auto found = run(inspect_lake(soon(), *own_, options_));
    EXPECT_TRUE(found) << found.error().message() << found.error().detail();
    return found ? std::move(*found) : LakeInspection{};
  }
  base::Result<void> migrate() { return run(migrate_lake(soon(), *own_, options_)); }
  /// The other sessions are ours, and end.
  void leave() {
    pool_->close();
    pool_ = make_pool();
    while (!inspect().sessions.empty()) {
    }
  }

  std::unique_ptr<base::pg::Pool> own_;
};

TEST_F(LakeUpgrade, makes_lakes_of_either_version) {
  auto none = run(inspect_lake(soon(), *own_, options_));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind(), ErrorKind::kNotFound);
  options_.new_format = LakeFormat::k1_1;
  ASSERT_TRUE(run(create_lake(soon(), *own_, options_)));
  EXPECT_EQ(inspect().format, LakeFormat::k1_1);
  EXPECT_THAT(inspect().problems, IsEmpty());
  EXPECT_EQ(run(create_lake(soon(), *own_, options_)).error().kind(), ErrorKind::kAlreadyExists);
  // The same columns in the same order as those of a migrated lake: DuckDB inserts by position.
  const std::string columns =
      "SELECT string_agg(table_name || '.' || column_name || ' ' || data_type, ',' ORDER BY "
      "table_name, ordinal_position) FROM information_schema.columns WHERE table_name LIKE "
      "'ducklake\\_%' AND table_schema = '";
  const std::string made = text(columns + "lk'");
  options_.metadata_schema = "other";
  options_.new_format = LakeFormat::k1_0;
  ASSERT_TRUE(run(create_lake(soon(), *own_, options_)));
  EXPECT_EQ(inspect().version, "1.0");
  leave();
  ASSERT_TRUE(migrate());
  EXPECT_EQ(text(columns + "other'"), made);
  open();
}

TEST_F(LakeUpgrade, waits_for_nobody_and_refuses_beside_others) {
  open();
  (void)text("SELECT 1");
  auto refused = migrate();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kConflict);
  EXPECT_THAT(refused.error().message(), HasSubstr("pid "));
  EXPECT_EQ(inspect().version, "1.0");
  EXPECT_EQ(inspect().sessions.size(), 1U);
  leave();
  auto done = migrate();
  ASSERT_TRUE(done) << done.error().message() << done.error().detail();
  EXPECT_EQ(inspect().version, "1.1");
  leave();
  EXPECT_EQ(migrate().error().kind(), ErrorKind::kAlreadyExists);
}

TEST_F(LakeUpgrade, takes_a_lake_of_0_4_and_no_other) {
  open();
  exec("UPDATE ducklake_metadata SET value = '0.3' WHERE key = 'version'");
  leave();
  EXPECT_EQ(migrate().error().kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(inspect().format, std::nullopt);
  exec("UPDATE ducklake_metadata SET value = '0.4' WHERE key = 'version'");
  leave();
  ASSERT_TRUE(migrate());
  EXPECT_EQ(inspect().format, LakeFormat::k1_1);
}

TEST_F(LakeUpgrade, what_is_in_the_way_is_named_and_nothing_changes) {
  open();
  exec(
      "CREATE TABLE ducklake_inlined_data_1_1 (row_id bigint, begin_snapshot bigint, end_snapshot "
      "bigint, _ducklake_row_id bigint); INSERT INTO ducklake_inlined_data_tables VALUES (1, "
      "'ducklake_inlined_data_1_1', 1)");
  leave();
  auto refused = migrate();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kConflict);
  EXPECT_THAT(refused.error().detail(), HasSubstr("_ducklake_row_id"));
  EXPECT_EQ(inspect().version, "1.0");
  EXPECT_EQ(text("SELECT count(*) FROM information_schema.columns WHERE table_schema = 'lk' AND "
                 "column_name = 'row_group_count'"),
            "0");
}

TEST_F(LakeUpgrade, finds_what_is_wrong) {
  open();
  EXPECT_THAT(inspect().problems, IsEmpty());
  exec(
      "INSERT INTO ducklake_table VALUES (1, gen_random_uuid(), 1, NULL, 0, 't', 't/', true);"
      "INSERT INTO ducklake_column VALUES (1, 1, NULL, 1, 1, '_DUCKLAKE_x', 'int32', NULL, NULL, "
      "true, NULL, NULL, NULL);"
      "INSERT INTO ducklake_table_stats VALUES (1, 5, 5, 10);"
      "INSERT INTO ducklake_data_file (data_file_id, table_id, begin_snapshot, record_count, "
      "file_size_bytes) VALUES (1, 1, 1, 5, 11);"
      "CREATE TABLE inlined (row_id bigint, begin_snapshot bigint, end_snapshot bigint);"
      "INSERT INTO ducklake_inlined_data_tables VALUES (1, 'inlined', 1), (1, 'inlined', 1)");
  EXPECT_THAT(inspect().problems,
              ElementsAre(HasSubstr("registered twice: 1 at schema version 1"),
                          HasSubstr("t._DUCKLAKE_x"), HasSubstr("totals say: t;")));
  migrate_to_1_1();
  exec(
      "ALTER TABLE inlined RENAME _ducklake_row_id TO row_id;"
      "INSERT INTO ducklake_schema VALUES (5, gen_random_uuid(), 1, NULL, E'a\\x1f' || 'b', 'x/', "
      "true, NULL), (6, gen_random_uuid(), 1, NULL, 'a', 'a/', true, NULL), (7, gen_random_uuid(), "
      "1, NULL, 'b', 'b/', true, 6)");
  EXPECT_THAT(inspect().problems,
              ElementsAre(HasSubstr("without the columns of this version: inlined"),
                          HasSubstr("registered twice"), HasSubstr("t._DUCKLAKE_x"),
                          HasSubstr("totals say: t;"), HasSubstr("a.b (schema_id 5)")));
  exec("ALTER TABLE ducklake_schema DROP parent_schema_id");
  EXPECT_THAT(inspect().problems, ElementsAre(HasSubstr("ducklake_schema.parent_schema_id")));
}

}  // namespace
}  // namespace lake::ducklake
