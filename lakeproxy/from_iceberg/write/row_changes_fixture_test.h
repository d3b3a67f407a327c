#pragma once

// A table whose only column is a number, lake table 1, and what a test of its
// rows asks of the lake.

#include "lakeproxy/ducklake/lake/lake_fixture_test.h"
#include "lakeproxy/from_iceberg/write/lake_writer.h"
#include "lakeproxy/iceberg/update/metadata_change.h"

namespace lake::ducklake {
using LakeTablePtr = std::shared_ptr<const model::LakeTable>;

inline const model::TableIdentifier kNumbers{model::Namespace{{"main"}}, "t"};
inline const std::string kFolder = "s3://lake/data/main/t/";

inline AddedFile file(const std::string& name) {
  AddedFile added;
  added.file.file_path = kFolder + name;
  added.file.record_count = 100;
  added.file.file_size_in_bytes = 1000;
  return added;
}

inline AddedSnapshot adds(std::int64_t id, std::vector<AddedFile> files,
                          const std::vector<std::string>& removed = {}) {
  AddedSnapshot added{model::SnapshotId(id), std::move(files), "{}", {}, {}};
  for (const auto& name : removed) added.removed.push_back(kFolder + name);
  return added;
}

class RowChanges : public LakeFixture {
 protected:
  void SetUp() override {
    open();
    model::CreateTable request{.name = "t"};
    request.schema.fields = {{.id = 1, .name = "i", .type = model::Type(model::TypeKind::kLong)}};
    auto made = model::new_table(
        request,
        {.uuid = base::make_uuid_v4(random_), .location = "s3://lake/data/main/t", .now_ms = 1});
    ASSERT_TRUE(made) << made.error().message();
    ASSERT_TRUE(run(writer().create_table(soon(), {kNumbers, *made, {}})));
  }
  LakeWriter writer() { return {*pool_, options_, clock_, random_}; }
  LakeTablePtr load() {
    LakeReader reader(*pool_, options_);
    auto table = run(reader.load_table(soon(), *run(reader.find_table(soon(), kNumbers))));
    EXPECT_TRUE(table) << table.error().message();
    return std::make_shared<const model::LakeTable>(std::move(*table));
  }
  base::Result<ChangedTable> change(const LakeTablePtr& before,
                                    std::vector<AddedSnapshot> snapshots,
                                    BaseVersionCheck base_version_check = BaseVersionCheck::kRows) {
    return run(writer().change_table(
        soon(), {before, before->metadata, std::move(snapshots), base_version_check}));
  }
  void must_change(std::vector<AddedSnapshot> snapshots) {
    auto changed = change(load(), std::move(snapshots));
    ASSERT_TRUE(changed) << changed.error().message() << changed.error().detail();
  }
  /// "name:begin-end ..." of all rows of a table of files, in order of their ids.
  std::string spans(const char* of, const char* id) {
    return text(
        fmt::format("SELECT coalesce(string_agg(path || ':' || begin_snapshot || '-' || "
                    "coalesce(end_snapshot::text, ''), ' ' ORDER BY {}), '') FROM {}.{}",
                    id, options_.metadata_schema, of));
  }
  std::string files() { return spans("ducklake_data_file", "data_file_id"); }

  base::SystemClock clock_;
  base::SystemRandom random_;
};

}  // namespace lake::ducklake
