#include "lakeproxy/operation/shown_table.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <set>

#include "base/gzip/gunzip.h"
#include "base/json/json.h"
#include "lakeproxy/operation/tables.h"

namespace lake::operation {
namespace {

using Snapshots = model::SnapshotSelection;
using Allowed = policy::Authorized<LoadTable>;

static_assert(!std::constructible_from<ShownTable, publish::LoadedTablePtr>);
static_assert(!std::constructible_from<ShownTable, LoadTable, Catalog, SeenTable>,
              "shown by a request that nobody has allowed");
static_assert(!std::constructible_from<ShownTable, Allowed, Catalog&, publish::LoadedTablePtr>,
              "shown without a question to governance");
static_assert(std::constructible_from<ShownTable, Allowed, Catalog&, SeenTable>);

base::Task<void> allow(const auth::Principal* principal, std::optional<Allowed>* kept) {
  auto allowed = co_await policy::authorize({}, {principal, policy::Permission::kReadNamespace},
                                            LoadTable{{{{"a"}}, "t"}}, std::nullopt);
  kept->emplace(*allowed);
}

// A table of snapshots 3 and 9, asked for by one who is told `config`.
class ShownTableTest : public ::testing::Test {
 protected:
  ShownTableTest() {
    model::LakeTable table;
    table.metadata.location = "s3://b/t";
    table.metadata.schemas.push_back({.schema_id = 0, .fields = {}});
    table.metadata.partition_specs = {{0, {}}};
    table.metadata.sort_orders = {{}};
    for (std::int64_t id : {3, 9}) {
      table.materialized.push_back(model::Snapshot{.snapshot_id = model::SnapshotId(id),
                                                   .sequence_number = id,
                                                   .timestamp_ms = id * 1000,
                                                   .schema_id = 0});
    }
    loaded_ = publish::make_loaded_table(std::move(table), nullptr);
  }

  ShownTable shown(const char* config) {
    boost::asio::io_context loop;
    const auth::Principal principal = auth::unauthenticated();
    std::optional<Allowed> allowed;
    boost::asio::co_spawn(loop, allow(&principal, &allowed), boost::asio::detached);
    loop.run();
    Catalog catalog;
    catalog.client_config = std::make_shared<publish::ClientConfig>(config);
    return {*allowed, catalog, SeenTable{loaded_, nullptr}};
  }

  publish::LoadedTablePtr loaded_;
};

const char* const kOne = R"({"s3.access-key-id":"one"})";
const char* const kOther = R"({"s3.access-key-id":"other"})";

base::json::Value parsed(const AnswerText& text) {
  return base::json::parse(*text.beginning + *text.end).value();
}

TEST_F(ShownTableTest, keys_of_a_caller_end_the_answer_and_are_part_of_its_tag) {
  ShownTable table = shown(kOne);
  const std::string before = table.etag(Snapshots::kAll);
  EXPECT_FALSE(table.holds_keys());
  table.tell(std::make_shared<publish::ClientConfig>(kOther, R"([{"prefix":"s3://lake/t/"}])"));
  EXPECT_TRUE(table.holds_keys());
  EXPECT_NE(table.etag(Snapshots::kAll), before);
  const base::json::Value answer = parsed(table.text(Snapshots::kAll));
  EXPECT_EQ(answer.at("config").at("s3.access-key-id"), "other");
  EXPECT_EQ(answer.at("storage-credentials").at(0).at("prefix"), "s3://lake/t/");
}

TEST_F(ShownTableTest, each_caller_is_told_its_own_config_behind_the_bytes_of_all) {
  for (Snapshots snapshots : {Snapshots::kAll, Snapshots::kRefs}) {
    const AnswerText one = shown(kOne).text(snapshots);
    const AnswerText other = shown(kOther).text(snapshots);
    EXPECT_EQ(one.beginning, other.beginning) << "one buffer, not two that are alike";
    EXPECT_EQ(parsed(one).at("config").at("s3.access-key-id"), "one");
    EXPECT_EQ(parsed(other).at("config").at("s3.access-key-id"), "other");
    EXPECT_EQ(parsed(one).at("metadata"), parsed(other).at("metadata"));
  }
}

TEST_F(ShownTableTest, the_same_as_gzip) {
  EXPECT_FALSE(shown(kOne).packed(Snapshots::kAll)) << "nobody has packed it";
  auto packed = publish::pack_body(*loaded_, Snapshots::kAll);
  ASSERT_TRUE(packed);
  loaded_->packed_of(Snapshots::kAll).set(*packed);
  for (const char* config : {kOne, kOther}) {
    auto gzip = shown(config).packed(Snapshots::kAll);
    ASSERT_TRUE(gzip);
    EXPECT_EQ(gzip->beginning->data(), (*packed)->bytes.data()) << "shared, not copied";
    const AnswerText plain = shown(config).text(Snapshots::kAll);
    EXPECT_EQ(base::gzip::gunzip(*gzip->beginning + *gzip->end, 1 << 20).value(),
              *plain.beginning + *plain.end);
  }
}

TEST_F(ShownTableTest, the_tag_tells_forms_snapshots_and_callers_apart) {
  std::set<std::string> tags;
  for (const char* config : {kOne, kOther}) {
    for (Snapshots snapshots : {Snapshots::kAll, Snapshots::kRefs}) {
      EXPECT_TRUE(tags.insert(shown(config).etag(snapshots)).second);
      EXPECT_TRUE(tags.insert(shown(config).etag(snapshots, model::SnapshotId(3))).second);
      EXPECT_TRUE(tags.insert(shown(config).etag(snapshots, model::SnapshotId(9))).second);
      EXPECT_EQ(shown(config).etag(snapshots), shown(config).etag(snapshots)) << "to be asked by";
    }
  }
}

TEST_F(ShownTableTest, an_older_state_has_the_callers_end_too) {
  const auto at = parsed(shown(kOne).text_at(model::SnapshotId(3), Snapshots::kAll));
  EXPECT_EQ(at.at("metadata").at("current-snapshot-id"), 3);
  EXPECT_EQ(at.at("config").at("s3.access-key-id"), "one");
}

TEST_F(ShownTableTest, what_is_unregistered_has_no_config) {
  auto answer = base::json::parse(shown(kOne).unregistered());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->as_object().size(), 2u);
  EXPECT_EQ(answer->at("metadata").at("location"), "s3://b/t");
}

}  // namespace
}  // namespace lake::operation
