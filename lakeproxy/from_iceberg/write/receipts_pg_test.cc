#include "lakeproxy/ducklake/commit/receipts.h"
#include "lakeproxy/ducklake/lake/lake_fixture_test.h"
#include "lakeproxy/from_iceberg/write/lake_writer.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;

class ReceiptsTest : public LakeFixture {
 protected:
  void SetUp() override { open(); }

  LakeWriter writer() { return {*pool_, options_, clock_, random_}; }
  static model::ChangeKey key(std::uint8_t last) {
    model::ChangeKey key{.id = {}, .request_hash = std::string("\0\xff", 2)};
    key.id[15] = last;
    return key;
  }
  std::optional<Receipt> find(std::uint8_t last) {
    auto found = run(receipts_.find(soon(), key(last).id));
    EXPECT_TRUE(found);
    return *found;
  }
  base::Result<void> create(const std::string& name, std::uint8_t last) {
    return run(writer().keyed(key(last)).create_namespace(soon(), {{name}}, {}));
  }

  base::SystemClock clock_;
  base::SystemRandom random_;
  Receipts receipts_{*pool_, options_.metadata_schema};
};

TEST_F(ReceiptsTest, a_change_and_its_receipt_come_together) {
  ASSERT_TRUE(create("a", 1));
  auto receipt = find(1);
  ASSERT_TRUE(receipt);
  EXPECT_EQ(receipt->request_hash, key(1).request_hash);
  EXPECT_FALSE(receipt->refused_status);
  EXPECT_EQ(receipt->answer, "");
  EXPECT_FALSE(find(2));
}

TEST_F(ReceiptsTest, a_change_that_fails_leaves_none) {
  ASSERT_TRUE(create("a", 1));
  auto again = create("a", 2);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind(), ErrorKind::kAlreadyExists);
  EXPECT_FALSE(find(2));
}

TEST_F(ReceiptsTest, one_key_makes_one_change) {
  ASSERT_TRUE(create("a", 1));
  auto again = create("b", 1);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind(), ErrorKind::kConflict);
  EXPECT_EQ(again.error().reason(), kAlreadyDone);
  EXPECT_EQ(text("SELECT count(*) FROM lk.ducklake_schema WHERE schema_name = 'b'"), "0");
}

TEST_F(ReceiptsTest, what_no_state_tells_is_kept) {
  ASSERT_TRUE(create("a", 1));
  auto changed =
      run(writer().keyed(key(2)).change_namespace(soon(), {{"a"}}, {"gone"}, {{"k", "v"}}));
  ASSERT_TRUE(changed);
  EXPECT_EQ(find(2)->answer, R"({"updated":["k"],"removed":[],"missing":["gone"]})");
}

TEST_F(ReceiptsTest, the_first_receipt_of_a_key_stands) {
  auto kept = run(receipts_.keep_refusal(soon(), key(1), 404, "first"));
  ASSERT_TRUE(kept) << kept.error().detail();
  EXPECT_EQ(kept->refused_status, 404U);
  auto second = run(receipts_.keep_refusal(soon(), key(1), 409, "second"));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->refused_status, 404U);
  EXPECT_EQ(second->answer, "first");
  EXPECT_EQ(create("a", 1).error().reason(), kAlreadyDone);
  ASSERT_TRUE(create("b", 2));
  EXPECT_FALSE(run(receipts_.keep_refusal(soon(), key(2), 409, "late"))->refused_status);
}

TEST_F(ReceiptsTest, old_ones_go_when_others_come) {
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
