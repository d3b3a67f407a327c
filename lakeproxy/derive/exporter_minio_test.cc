#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/core/text.h"
#include "lakeproxy/derive/exporter_fixture_test.h"
#include "lakeproxy/engine/deletes/position_deletes.h"
#include "lakeproxy/engine/files/transfer.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::RequestContext;
using materialize::DeleteGroup;
using materialize::ExportPlan;
using materialize::InlinedGroup;
using model::Type;
using model::TypeKind;
using ::testing::ElementsAre;
using ::testing::Pair;

class ExporterMinioTest : public ExporterFixture {
 protected:
  [[nodiscard]] InlinedGroup inlined(const std::string& name) const {
    return {.location = at(name),
            .columns = {{.id = 1, .name = "i", .type = Type(TypeKind::kInt)},
                        {.id = 2, .name = "f", .type = Type(TypeKind::kDouble)}},
            .rows = {{.row_id = 0, .values = {"1", "NaN"}}, {.row_id = 1, .values = {"2", "1.5"}}}};
  }
  base::Result<std::map<model::FieldId, std::int64_t>> nans(const std::string& name,
                                                            std::vector<model::FieldId> columns,
                                                            ByteBudget& budget) {
    auto info = run(store->head(context(), *storage::ObjectKey::parse(name)));
    model::LakeDataFile file{.path = at(name),
                             .file_size_bytes = info ? static_cast<std::int64_t>(info->size) : 100};
    NanSearch search{&file, std::move(columns), &mapping, &budget};
    return run(exporter->count_nans(context(), std::move(search)));
  }
  model::NameMapping mapping;
  [[nodiscard]] DeleteGroup deletes(const std::string& name) const {
    return {.location = at(name), .data_file = at("d.parquet")};
  }
};

TEST_F(ExporterMinioTest, makes_every_file_of_a_plan) {
  put("src/deletes.parquet", engine.parquet("SELECT 'x' AS file_path, 4::BIGINT AS pos"));
  put("src/deletes.puffin", *base::from_hex("00000024d1d339640100000000000000000000003a3000000100"
                                            "00000000010010000000010007000c5852ad"));
  ExportPlan plan;
  for (int i = 0; i < 6; ++i) plan.inlined.push_back(inlined("t/inlined-" + std::to_string(i)));
  plan.deletes = {deletes("t/d0"), deletes("t/d1"), deletes("t/d2")};
  plan.deletes[0].positions = {9, 3, 9};
  plan.deletes[1].source = model::LakeDeleteFile{.path = at("src/deletes.parquet")};
  plan.deletes[1].positions = {2, 4};
  plan.deletes[2].source =
      model::LakeDeleteFile{.path = at("src/deletes.puffin"), .format = "puffin"};
  auto made = run(exporter->make(context(), &plan));
  ASSERT_TRUE(made) << made.error().message() << made.error().detail();
  ASSERT_EQ(made->size(), 9);
  for (const auto& [location, file] : *made) {
    std::string bytes = get(location.substr(("s3://" + bucket + "/").size()));
    EXPECT_EQ(file.file_size_bytes, static_cast<std::int64_t>(bytes.size())) << location;
  }
  EXPECT_EQ(made->at(at("t/inlined-5")).record_count, 2);
  ASSERT_EQ(made->at(at("t/inlined-5")).stats.size(), 2);
  EXPECT_EQ(made->at(at("t/inlined-5")).stats[1].nan_count, 1);
  auto positions = [&](const std::string& name) {
    EXPECT_EQ(made->at(at(name)).record_count,
              static_cast<std::int64_t>(
                  read_position_deletes(*engine, get(name), model::SnapshotId(100), kNoDeadline)
                      ->size()));
    return *read_position_deletes(*engine, get(name), model::SnapshotId(100), kNoDeadline);
  };
  EXPECT_THAT(positions("t/d0"), ElementsAre(3, 9));
  EXPECT_THAT(positions("t/d1"), ElementsAre(2, 4));
  EXPECT_THAT(positions("t/d2"), ElementsAre(1, 7));
  EXPECT_TRUE(engine.scratch_is_empty());
  // Again, when all is there.
  auto again = run(exporter->make(context(), &plan));
  ASSERT_TRUE(again);
  for (const auto& [location, file] : *made) {
    EXPECT_EQ(again->at(location).file_size_bytes, file.file_size_bytes);
    EXPECT_EQ(again->at(location).record_count, file.record_count);
    EXPECT_EQ(again->at(location).stats.size(), file.stats.size());
  }
}

TEST_F(ExporterMinioTest, keeps_an_object_that_exists_and_tells_its_size) {
  put("t/inlined", "somebody was here first");
  ExportPlan plan{.inlined = {inlined("t/inlined")}};
  auto made = run(exporter->make(context(), &plan));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->at(at("t/inlined")).file_size_bytes, 23);
  EXPECT_EQ(made->at(at("t/inlined")).record_count, 2);
  EXPECT_EQ(get("t/inlined"), "somebody was here first");
}

TEST_F(ExporterMinioTest, names_errors_and_leaves_no_scratch) {
  put("bad.parquet", "PAR1");
  auto kind = [&](ExportPlan plan, RequestContext at_most) {
    auto result = kind_of(run(exporter->make(at_most, &plan)));
    EXPECT_TRUE(engine.scratch_is_empty());
    return result;
  };
  auto with_source = [&](const std::string& path, std::string format) {
    ExportPlan plan{.deletes = {deletes("t/d")}};
    plan.deletes[0].source = model::LakeDeleteFile{.path = path, .format = std::move(format)};
    return plan;
  };
  EXPECT_EQ(kind(with_source(at("bad.parquet"), "parquet"), context()), ErrorKind::kCorrupt);
  EXPECT_EQ(kind(with_source(at("bad.parquet"), "puffin"), context()), ErrorKind::kCorrupt);
  EXPECT_EQ(kind(with_source(at("bad.parquet"), "orc"), context()), ErrorKind::kUnsupported);
  EXPECT_EQ(kind(with_source(at("none.parquet"), "parquet"), context()), ErrorKind::kCorrupt);
  EXPECT_EQ(kind(with_source("s3://another/x.parquet", "parquet"), context()), ErrorKind::kCorrupt);
  EXPECT_EQ(kind(with_source("file:///etc/passwd", "parquet"), context()), ErrorKind::kCorrupt);
  RequestContext late{.deadline = std::chrono::steady_clock::now()};
  EXPECT_EQ(kind({.inlined = {inlined("t/x")}}, late), ErrorKind::kTimeout);
  ExportPlan outside{.inlined = {inlined("t/x")}};
  outside.inlined[0].location = "s3://another/x";
  EXPECT_EQ(kind(outside, context()), ErrorKind::kCorrupt);
  ExportPlan nothing;
  EXPECT_EQ(run(exporter->make(context(), &nothing))->size(), 0);
}

TEST_F(ExporterMinioTest, counts_nans_of_a_file_in_several_parts) {
  // Over the size of one part of the download, so incompressible.
  put("big.parquet",
      engine.parquet(
          "SELECT CASE WHEN i % 1000 = 0 THEN 'nan'::DOUBLE ELSE hash(i)::DOUBLE / 3 END "
          "AS f FROM range(2000000) r(i)",
          ", FIELD_IDS {f: 5}"));
  ASSERT_GT(get("big.parquet").size(), 9U << 20);
  ByteBudget budget(1ULL << 30);
  auto counts = nans("big.parquet", {5, 6}, budget);
  ASSERT_TRUE(counts) << counts.error().message() << counts.error().detail();
  EXPECT_THAT(*counts, ElementsAre(Pair(5, 2000)));
  EXPECT_TRUE(engine.scratch_is_empty());
  put("bad.parquet", "PAR1");
  EXPECT_EQ(kind_of(nans("bad.parquet", {5}, budget)), ErrorKind::kCorrupt);
  EXPECT_EQ(kind_of(nans("none", {5}, budget)), ErrorKind::kCorrupt);
  EXPECT_TRUE(engine.scratch_is_empty());
}

// Two columns whose chunks lie far apart, of several row groups.
TEST_F(ExporterMinioTest, counting_nans_reads_the_columns_alone_and_no_more_than_it_may) {
  put("wide.parquet",
      engine.parquet(
          "SELECT hash(i) AS other, CASE WHEN i = 17 THEN 'nan'::DOUBLE ELSE i END AS f, "
          "{'g': CASE WHEN i % 2 = 0 THEN 'nan'::FLOAT ELSE 1 END, 'h': hash(i)} AS s "
          "FROM range(60000) r(i)",
          ", FIELD_IDS {other: 1, f: 2, s: {__duckdb_field_id: 3, g: 4, h: 5}}, "
          "ROW_GROUP_SIZE 20000"));
  const std::uint64_t whole = get("wide.parquet").size();
  ByteBudget enough(whole);
  EXPECT_THAT(*nans("wide.parquet", {2}, enough), ElementsAre(Pair(2, 1)));
  const std::uint64_t read = whole - enough.left();
  EXPECT_LT(read, whole / 2);
  EXPECT_THAT(*nans("wide.parquet", {2, 4}, enough), ElementsAre(Pair(2, 1), Pair(4, 30000)));

  ByteBudget exactly(read);
  EXPECT_TRUE(nans("wide.parquet", {2}, exactly));
  EXPECT_EQ(exactly.left(), 0U);
  ByteBudget too_small(read - 1);
  EXPECT_EQ(kind_of(nans("wide.parquet", {2}, too_small)), ErrorKind::kTooLarge);
  ByteBudget nothing(0);
  EXPECT_EQ(kind_of(nans("wide.parquet", {2}, nothing)), ErrorKind::kTooLarge);
  EXPECT_TRUE(engine.scratch_is_empty());
}

TEST_F(ExporterMinioTest, nans_of_a_file_without_field_ids_are_found_by_the_tables_names) {
  put("plain.parquet", engine.parquet("SELECT 'nan'::DOUBLE AS F FROM range(3)"));
  ByteBudget budget(1 << 20);
  EXPECT_TRUE(nans("plain.parquet", {7}, budget)->empty());
  mapping = {{.id = 7, .names = {"f", "F"}, .fields = {}}};
  EXPECT_THAT(*nans("plain.parquet", {7}, budget), ElementsAre(Pair(7, 3)));
}

TEST_F(ExporterMinioTest, tells_when_the_rows_of_a_partial_file_began) {
  auto file = [&](const std::string& name, const std::string& query, std::int64_t rows) {
    put(name, engine.parquet(query));
    return model::LakeDataFile{.path = at(name),
                               .record_count = rows,
                               .file_size_bytes = static_cast<std::int64_t>(get(name).size())};
  };
  const auto merged = file("merged.parquet",
                           "SELECT hash(i) AS x, 5 + i // 100000 AS _ducklake_internal_snapshot_id "
                           "FROM range(200000) r(i)",
                           200000);
  auto begins = run(exporter->row_snapshot_ids(context(), &merged));
  ASSERT_TRUE(begins) << begins.error().message() << begins.error().detail();
  EXPECT_THAT((*begins)->rows_of_snapshots(),
              ElementsAre(Pair(model::SnapshotId(5), 100000), Pair(model::SnapshotId(6), 100000)));
  const auto silent = file("silent.parquet", "SELECT 1 AS x", 1);
  EXPECT_EQ(*run(exporter->row_snapshot_ids(context(), &silent)), nullptr);
  auto broken = merged;
  broken.file_size_bytes -= 1;
  EXPECT_EQ(kind_of(run(exporter->row_snapshot_ids(context(), &broken))), ErrorKind::kCorrupt);
  broken.path = at("none");
  EXPECT_EQ(kind_of(run(exporter->row_snapshot_ids(context(), &broken))), ErrorKind::kCorrupt);
  EXPECT_TRUE(engine.scratch_is_empty());
}

}  // namespace
}  // namespace lake::exporter
