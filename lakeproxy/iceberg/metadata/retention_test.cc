#include "lakeproxy/iceberg/metadata/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lake::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr TimestampMs kNow = 1000;

// Snapshots 1 to 5 at 100, 200, ..., 500; main is at the last.
TableMetadata table(std::map<std::string, std::string> properties) {
  TableMetadata made;
  made.properties = std::move(properties);
  for (std::int64_t id = 1; id <= 5; ++id) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->snapshot_id = SnapshotId(id);
    snapshot->timestamp_ms = id * 100;
    made.snapshots.push_back(SnapshotPtr(std::move(snapshot)));
  }
  made.current_snapshot_id = SnapshotId(5);
  made.refs["main"].snapshot_id = SnapshotId(5);
  return made;
}

std::vector<std::int64_t> expired(const TableMetadata& metadata) {
  std::vector<std::int64_t> ids;
  for (SnapshotId id : expired_snapshots(metadata, kNow)) ids.push_back(id.value);
  return ids;
}

constexpr auto kAge = "history.expire.max-snapshot-age-ms";
constexpr auto kLeast = "history.expire.min-snapshots-to-keep";

TEST(Retention, what_is_older_than_the_age_goes) {
  EXPECT_THAT(expired(table({{kAge, "700"}})), ElementsAre(1, 2)) << "3 is just young enough";
  EXPECT_THAT(expired(table({{kAge, "1"}})), ElementsAre(1, 2, 3, 4)) << "never the current one";
  EXPECT_THAT(expired(table({{kAge, "900"}})), IsEmpty());
}

TEST(Retention, nothing_goes_unless_an_age_is_set) {
  EXPECT_THAT(expired(table({})), IsEmpty());
  EXPECT_THAT(expired(table({{kLeast, "1"}})), IsEmpty());
  for (const char* age : {"", "0", "-1", "week"}) {
    EXPECT_THAT(expired(table({{kAge, age}})), IsEmpty()) << age;
  }
}

TEST(Retention, as_many_as_asked_for_stay) {
  EXPECT_THAT(expired(table({{kAge, "1"}, {kLeast, "3"}})), ElementsAre(1, 2));
  EXPECT_THAT(expired(table({{kAge, "1"}, {kLeast, "9"}})), IsEmpty());
}

TEST(Retention, refs_keep_what_they_name) {
  auto tagged = table({{kAge, "1"}});
  tagged.refs["t"] = {.snapshot_id = SnapshotId(2), .type = RefType::kTag};
  EXPECT_THAT(expired(tagged), ElementsAre(1, 3, 4));
  auto branched = table({{kAge, "1"}});
  branched.refs["b"] = {.snapshot_id = SnapshotId(3), .min_snapshots_to_keep = 2};
  EXPECT_THAT(expired(branched), ElementsAre(1, 4));
  auto own = table({{kAge, "1"}});
  own.refs["main"].max_snapshot_age_ms = 650;
  EXPECT_THAT(expired(own), ElementsAre(1, 2, 3)) << "main says so itself";
}

}  // namespace
}  // namespace lake::model
