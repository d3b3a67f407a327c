#include "lakeproxy/ducklake/commit/idempotency_records.h"
#include "lakeproxy/ducklake/lake/lake_fixture_test.h"
#include "lakeproxy/from_iceberg/write/lake_writer.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;

class IdempotencyRecordsTest : public LakeFixture {
 protected:
  void SetUp() override { open(); }

  LakeWriter writer() { return {*pool_, options_, clock_, random_}; }
  static model::IdempotencyKey key(std::uint8_t last) {
    model::IdempotencyKey key{.id = {}, .request_hash = std::string("\0\xff", 2)};
    key.id[15] = last;
    return key;
  }
  std::optional<IdempotencyRecord> find(std::uint8_t last) {
    auto found = run(idempotency_records_.find(soon(), key(last).id));
    EXPECT_TRUE(found);
    return *found;
  }
  base::Result<void> create(const std::string& name, std::uint8_t last) {
    return run(writer().keyed(key(last)).create_namespace(soon(), {{name}}, {}));
  }

  base::SystemClock clock_;
  base::SystemRandom random_;
  IdempotencyRecords idempotency_records_{*pool_, options_.metadata_schema};
};

TEST_F(IdempotencyRecordsTest, a_change_and_its_record_come_together) {
  ASSERT_TRUE(create("a", 1));
  auto record = find(1);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->request_hash, key(1).request_hash);
  EXPECT_FALSE(record->refused_status);
  EXPECT_EQ(record->answer, "");
  EXPECT_FALSE(find(2));
}

TEST_F(IdempotencyRecordsTest, a_change_that_fails_leaves_none) {
  ASSERT_TRUE(create("a", 1));
  auto again = create("a", 2);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind(), ErrorKind::kAlreadyExists);
  EXPECT_FALSE(find(2));
}

TEST_F(IdempotencyRecordsTest, one_key_makes_one_change) {
  ASSERT_TRUE(create("a", 1));
  auto again = create("b", 1);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind(), ErrorKind::kConflict);
  EXPECT_EQ(again.error().reason(), kAlreadyDone);
  EXPECT_EQ(text("SELECT count(*) FROM lk.ducklake_schema WHERE schema_name = 'b'"), "0");
}

TEST_F(IdempotencyRecordsTest, what_no_state_tells_is_kept) {
  ASSERT_TRUE(create("a", 1));
  auto changed =
      run(writer().keyed(key(2)).change_namespace(soon(), {{"a"}}, {"gone"}, {{"k", "v"}}));
  ASSERT_TRUE(changed);
  EXPECT_EQ(find(2)->answer, R"({"updated":["k"],"removed":[],"missing":["gone"]})");
}

TEST_F(IdempotencyRecordsTest, the_first_record_of_a_key_stands) {
  auto kept = run(idempotency_records_.keep_refusal(soon(), key(1), 404, "first"));
  ASSERT_TRUE(kept) << kept.error().detail();
  EXPECT_EQ(kept->refused_status, 404U);
  auto second = run(idempotency_records_.keep_refusal(soon(), key(1), 409, "second"));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->refused_status, 404U);
  EXPECT_EQ(second->answer, "first");
  EXPECT_EQ(create("a", 1).error().reason(), kAlreadyDone);
  ASSERT_TRUE(create("b", 2));
  EXPECT_FALSE(run(idempotency_records_.keep_refusal(soon(), key(2), 409, "late"))->refused_status);
}

TEST_F(IdempotencyRecordsTest, old_ones_go_when_others_come) {
  ASSERT_TRUE(create("a", 1));
  exec("UPDATE lakeproxy_idempotency SET created_at = now() - interval '24 hours'");
  ASSERT_TRUE(create("b", 2));
  EXPECT_TRUE(find(1)) << "a client may come for the whole lifetime";
  exec("UPDATE lakeproxy_idempotency SET created_at = now() - interval '26 hours'");
  ASSERT_TRUE(create("c", 3));
  EXPECT_FALSE(find(1));
  EXPECT_FALSE(find(2));
  EXPECT_TRUE(find(3));
}

}  // namespace
}  // namespace lake::ducklake
