#include "lakeproxy/operation/see_table.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include "lakeproxy/governance/resolver.h"

namespace lake::operation {
namespace {

using base::ErrorKind;
using policy::PolicyVersion;
using policy::ReadPlan;

base::Task<base::Result<ReadPlan>> answer(base::Result<ReadPlan> plan) { co_return plan; }

// What is seen of a table where governance answers so. Behind it only the cache of masked tables is
// wired: whatever would reach for files or for the database crashes the test.
class SeeTable : public ::testing::Test {
 protected:
  SeeTable() {
    model::LakeTable table;
    table.name = "t";
    table.metadata.location = "s3://b/t";
    table.metadata.schemas = {
        {.fields = {{.id = 1, .name = "a", .type = model::Type(model::TypeKind::kLong)}}}};
    table.metadata.partition_specs = {{}};
    table.metadata.sort_orders = {{}};
    loaded_ = publish::make_loaded_table(std::move(table), nullptr);
    auto mask = std::make_shared<policy::MaskPlan>();
    mask->signature = "0f";
    mask->masks.push_back({.field = 1, .column = "a", .expression = "0", .policy = "hide_a"});
    mask_ = std::move(mask);
    catalog_.masked_tables = &masked_;
  }

  void governance_says(base::Result<ReadPlan> plan) {
    catalog_.read_plan = [plan = std::move(plan)](base::RequestContext, const auth::Principal&,
                                                  const publish::LoadedTablePtr&) {
      return answer(plan);
    };
  }
  template <class T>
  T run(base::Task<T> task) {
    boost::asio::io_context loop;
    auto future = boost::asio::co_spawn(loop, std::move(task), boost::asio::use_future);
    loop.run();
    return future.get();
  }
  auto seen() { return run(see_table({}, &catalog_, auth::unauthenticated(), loaded_)); }
  auto checked() { return run(check_sees_itself({}, &catalog_, auth::unauthenticated(), loaded_)); }

  masked::MaskedCache cache_{publish::CacheLimits{.values = 8, .bytes = 1 << 20}};
  masked::MaskedTables masked_{{.cache = &cache_}, "public", {}};
  Catalog catalog_;
  publish::LoadedTablePtr loaded_;
  std::shared_ptr<const policy::MaskPlan> mask_;
};

TEST_F(SeeTable, gives_the_table_itself_where_no_policy_applies) {
  governance_says(ReadPlan::raw(PolicyVersion(3), {"hide_a"}));
  auto table = seen();
  ASSERT_TRUE(table);
  EXPECT_EQ(table->loaded, loaded_);
  EXPECT_FALSE(table->is_shadow());
  EXPECT_EQ(table->lifted, std::vector<std::string>{"hide_a"});
  EXPECT_TRUE(checked());
}

TEST_F(SeeTable, tells_masks_that_the_reader_applies_and_makes_that_answer_once) {
  governance_says(ReadPlan::cooperative(mask_, PolicyVersion(3)));
  auto table = seen();
  ASSERT_TRUE(table);
  EXPECT_FALSE(table->is_shadow());
  EXPECT_EQ(table->told_mask, mask_);
  EXPECT_EQ(table->loaded->metadata.properties.at("lakeproxy.mask.a"), "0");
  EXPECT_NE(table->loaded->etag, loaded_->etag);
  EXPECT_EQ(table->loaded->metadata_location, loaded_->metadata_location);
  EXPECT_EQ(seen()->loaded, table->loaded);
  EXPECT_TRUE(checked());

  auto other = std::make_shared<policy::MaskPlan>(*mask_);
  other->masks[0].policy = "hide_a_too";
  governance_says(ReadPlan::cooperative(std::move(other), PolicyVersion(4)));
  EXPECT_NE(seen()->loaded->etag, table->loaded->etag) << "its note names another policy";
}

TEST_F(SeeTable, refuses_what_governance_refuses_and_says_why) {
  governance_says(ReadPlan::refused("two masking policies reach the column a", PolicyVersion(3)));
  auto refused = seen();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kForbidden);
  EXPECT_EQ(refused.error().reason(), kMasked);
  EXPECT_EQ(refused.error().message(), "table t: two masking policies reach the column a");
  EXPECT_FALSE(checked());
}

TEST_F(SeeTable, shows_nothing_where_governance_cannot_be_asked) {
  governance_says(base::fail(ErrorKind::kUnavailable, "PostgreSQL is away"));
  EXPECT_EQ(seen().error().kind(), ErrorKind::kUnavailable);
  EXPECT_EQ(checked().error().kind(), ErrorKind::kUnavailable);
}

TEST_F(SeeTable, is_open_only_where_no_mask_is_in_files_and_the_setting_says_so) {
  const auto away = [](std::string_view reason) {
    return base::fail(ErrorKind::kCorrupt, "a policy breaks its form").with_reason(reason);
  };
  governance_says(away(governance::kNoMaskInFiles));
  auto open = seen();
  ASSERT_TRUE(open);
  EXPECT_EQ(open->loaded, loaded_);
  EXPECT_EQ(open->unmasked_because, "a policy breaks its form");
  EXPECT_FALSE(checked()) << "a change waits until the policies can be told";

  governance_says(away(""));
  EXPECT_EQ(seen().error().kind(), ErrorKind::kUnavailable);
  EXPECT_EQ(seen().error().reason(), kGovernanceFailed);

  governance_says(away(governance::kNoMaskInFiles));
  catalog_.governance_fails_closed = true;
  EXPECT_EQ(seen().error().kind(), ErrorKind::kUnavailable);
  EXPECT_EQ(seen().error().reason(), kGovernanceFailed);
}

TEST_F(SeeTable, refuses_a_table_with_masked_files_to_who_reads_the_lake_itself) {
  const auto seen_in_the_lake = [&] {
    return run(see_lake_table({}, &catalog_, auth::unauthenticated(), loaded_));
  };
  governance_says(ReadPlan::file_mask(mask_, PolicyVersion(3)));
  EXPECT_EQ(seen_in_the_lake().error().reason(), kMasked);
  governance_says(ReadPlan::cooperative(mask_, PolicyVersion(3)));
  EXPECT_EQ(seen_in_the_lake()->told_mask, mask_);
  governance_says(ReadPlan::raw(PolicyVersion(3)));
  EXPECT_EQ(seen_in_the_lake()->told_mask, nullptr);
}

TEST_F(SeeTable, lets_nobody_change_what_is_masked_for_them) {
  governance_says(ReadPlan::file_mask(mask_, PolicyVersion(3)));
  auto refused = checked();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kForbidden);
  EXPECT_NE(refused.error().message().find("hide_a"), std::string::npos);
}

}  // namespace
}  // namespace lake::operation
