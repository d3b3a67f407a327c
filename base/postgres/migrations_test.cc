#include "base/postgres/migrations.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/postgres/fixture_test.h"
#include "base/runtime/gather.h"

namespace base::pg {
namespace {

class MigrationsTest : public PoolFixture {
 protected:
  std::string table() const { return versions() + ".versions"; }
  std::string versions() const { return schema_ + "_v"; }

  void SetUp() override {
    PoolFixture::SetUp();
    ASSERT_TRUE(
        run(pool_->script(soon(), fmt::format("DROP SCHEMA IF EXISTS {} CASCADE", versions()))));
  }

  Migration adds(int version, std::int64_t id) const {
    return {.version = version,
            .sql = fmt::format("INSERT INTO {0}.items VALUES ({1}); SELECT 1", schema_, id)};
  }

  Result<void> migrate_to(std::vector<Migration> migrations) {
    return run(migrate(*pool_, soon(), table(), std::move(migrations)));
  }
};

TEST_F(MigrationsTest, each_runs_once) {
  auto done = migrate_to({adds(1, 1)});
  ASSERT_TRUE(done) << done.error().detail();
  EXPECT_EQ(stored(), 1);
  ASSERT_TRUE(migrate_to({adds(1, 1), adds(5, 2)}));
  ASSERT_TRUE(migrate_to({adds(1, 1), adds(5, 2)}));
  EXPECT_EQ(stored(), 2);
}

TEST_F(MigrationsTest, a_failing_one_leaves_those_before_it) {
  EXPECT_FALSE(migrate_to({adds(1, 1), adds(2, 1), adds(3, 3)}));
  EXPECT_EQ(stored(), 1);
  EXPECT_TRUE(migrate_to({adds(1, 1), adds(2, 2)}));
  EXPECT_EQ(stored(), 2);
}

TEST_F(MigrationsTest, unknown_changed_and_skipped_versions_are_refused) {
  ASSERT_TRUE(migrate_to({adds(1, 1), adds(3, 3)}));
  EXPECT_EQ(migrate_to({adds(1, 1)}).error().kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(migrate_to({adds(1, 9), adds(3, 3)}).error().kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(migrate_to({adds(1, 1), adds(2, 2), adds(3, 3)}).error().kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(migrate_to({}).error().kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(stored(), 2);
}

TEST_F(MigrationsTest, names_and_order_are_checked) {
  for (const char* bad : {"", "versions", "a.b.c", "A.b", "a.b;", "a.\"b\"", ".b", "a."}) {
    EXPECT_EQ(run(migrate(*pool_, soon(), bad, {})).error().kind(), ErrorKind::kInvalid) << bad;
  }
  EXPECT_EQ(migrate_to({adds(2, 1), adds(1, 2)}).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(migrate_to({adds(1, 1), adds(1, 2)}).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(migrate_to({adds(0, 1)}).error().kind(), ErrorKind::kInvalid);
}

TEST_F(MigrationsTest, one_that_ends_its_transaction_is_refused) {
  EXPECT_FALSE(migrate_to({{.version = 1, .sql = "COMMIT"}}));
}

TEST_F(MigrationsTest, several_starts_at_once_apply_each_once) {
  std::vector<std::unique_ptr<Pool>> pools;
  std::vector<Task<Result<void>>> tasks;
  for (int i = 0; i < 6; ++i) {
    pools.push_back(Pool::create(server_options()));
    tasks.push_back(migrate(*pools.back(), soon(), table(), {adds(1, 1), adds(2, 2), adds(3, 3)}));
  }
  for (auto& result : run(gather(std::move(tasks)))) {
    EXPECT_TRUE(result) << result.error().detail();
  }
  EXPECT_EQ(stored(), 3);
}

}  // namespace
}  // namespace base::pg
