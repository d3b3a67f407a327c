#pragma once

// A lake, and what is remembered of publications in it.

#include <vector>

#include "lakeproxy/ducklake/lake/lake_fixture_test.h"
#include "lakeproxy/to_iceberg/publish/publication_records.h"

namespace lake::ducklake {

class RecordFixture : public LakeFixture {
 protected:
  Published published(model::TableId table) {
    return {.metadata_schema = options_.metadata_schema, .table = table};
  }
  Published with_snapshots(model::TableId table, std::optional<model::SnapshotId> built_on,
                           const std::vector<std::int64_t>& ids) {
    Published one = published(table);
    one.built_on = built_on;
    for (std::int64_t id : ids) {
      one.snapshots.emplace_back();
      one.snapshots.back().snapshot_id = model::SnapshotId(id);
      one.snapshots.back().manifest_list = "s3://lake/list";
    }
    return one;
  }
  /// Of each, whether all of it is remembered.
  std::vector<bool> record(std::vector<const Published*> all) {
    auto recorded = run(record_published(soon(), pool_.get(), std::move(all)));
    EXPECT_TRUE(recorded) << recorded.error().message() << recorded.error().detail();
    return recorded ? *recorded : std::vector<bool>{};
  }
  bool record(const Published& one) {
    return record(std::vector<const Published*>{&one}) == std::vector<bool>{true};
  }
};

}  // namespace lake::ducklake
