#pragma once

// A lake with a writer, and what a test of its changes asks of the lake.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lakeproxy/ducklake/read/lake_reader.h"
#include "lakeproxy/from_iceberg/write/lake_writer.h"
#include "lakeproxy/from_iceberg/write/record_fixture_test.h"
#include "lakeproxy/iceberg/update/metadata_change.h"
#include "lakeproxy/iceberg/value/single_value.h"

namespace lake::ducklake {

inline const model::Namespace kMain{{"main"}};

class WriterFixture : public RecordFixture {
 protected:
  void SetUp() override { open(); }

  LakeWriter writer() { return {*pool_, options_, clock_, random_}; }

  std::string head() {
    return ask(
        "SELECT row(snapshot_id, schema_version, next_catalog_id, next_file_id) FROM "
        "@ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1");
  }

  model::TableMetadata metadata(const char* name, std::optional<model::Transform> transform) {
    model::CreateTable request{.name = name};
    request.schema.fields = {{.id = 1, .name = "i", .type = model::Type(model::TypeKind::kLong)},
                             {.id = 2, .name = "s", .type = model::Type(model::TypeKind::kString)},
                             {.id = 3, .name = "f", .type = model::Type(model::TypeKind::kDouble)}};
    if (transform) request.spec = model::PartitionSpec{.fields = {{1, 1000, "p", *transform}}};
    auto made = model::new_table(request, {.uuid = base::make_uuid_v4(random_),
                                           .location = std::string("s3://lake/data/main/") + name,
                                           .now_ms = 1});
    EXPECT_TRUE(made) << made.error().message();
    return std::move(*made);
  }
  void make_table(const char* name, std::optional<model::Transform> transform = std::nullopt) {
    auto lake = writer();
    auto made =
        run(lake.create_table(soon(), {{kMain, name}, metadata(name, std::move(transform)), {}}));
    ASSERT_TRUE(made) << made.error().message() << made.error().detail();
  }
  std::shared_ptr<const model::LakeTable> load(const char* name) {
    LakeReader reader(*pool_, options_);
    auto id = run(reader.find_table(soon(), {kMain, name}));
    if (!id) return nullptr;
    auto table = run(reader.load_table(soon(), *id));
    EXPECT_TRUE(table) << table.error().message() << table.error().detail();
    return table ? std::make_shared<const model::LakeTable>(std::move(*table)) : nullptr;
  }
  static AddedFile file(const std::string& path, std::int64_t low, std::int64_t high) {
    AddedFile added;
    added.file.file_path = path;
    added.file.record_count = 100;
    added.file.file_size_in_bytes = 1000;
    added.file.metrics[1] = {.column_size = 50,
                             .value_count = 100,
                             .null_count = 10,
                             .lower_bound = materialize::encode_single_value(model::Literal(low)),
                             .upper_bound = materialize::encode_single_value(model::Literal(high))};
    added.file.metrics[2] = {.lower_bound = std::string("a\0", 2), .upper_bound = "z"};
    added.file.metrics[3] = {.value_count = 100, .null_count = 0, .nan_count = 7};
    return added;
  }
  base::Result<ChangedTable> change(TableChange change) {
    auto lake = writer();
    return run(lake.change_table(soon(), std::move(change)));
  }
  base::Result<ChangedTable> append(const std::shared_ptr<const model::LakeTable>& before,
                                    std::vector<AddedSnapshot> snapshots) {
    return change({before, before->metadata, std::move(snapshots)});
  }

  base::SystemClock clock_;
  base::SystemRandom random_;
};

}  // namespace lake::ducklake
