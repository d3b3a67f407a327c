#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lakeproxy/derive/exporter_fixture_test.h"
#include "lakeproxy/engine/files/transfer.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using model::Type;
using model::TypeKind;
using ::testing::StartsWith;

class ExporterMaskedCopies : public ExporterFixture {
 protected:
  // Three row groups of 200,000 rows and some MB.
  void SetUp() override {
    ExporterFixture::SetUp();
    const std::string bytes =
        engine.parquet("SELECT i AS id, md5(i::VARCHAR) AS who FROM range(200000) r(i)",
                       ", FIELD_IDS {id: 1, who: 2}, ROW_GROUP_SIZE 70000");
    copy_.source.file_path = at("t/f.parquet");
    copy_.source.file_size_in_bytes = static_cast<std::int64_t>(bytes.size());
    copy_.location = at("masked/f");
    put("t/f.parquet", bytes);
    rules_.columns = {
        {{.id = 1, .name = "id", .type = Type(TypeKind::kLong)}, std::nullopt},
        {{.id = 2, .name = "who", .type = Type(TypeKind::kString)}, R"(left("who", 24))"}};
    copy_.rules = std::make_shared<const MaskRules>(rules_);
  }
  base::Result<FirstRows> first(std::uint64_t bytes) {
    ByteBudget budget(bytes);
    return run(exporter->first_rows(
        context(),
        {.file = &copy_, .bounds = {.rows = 3, .columns = 2, .characters = 4}, .budget = &budget}));
  }

  MaskRules rules_;
  MaskedCopy copy_;
};

TEST_F(ExporterMaskedCopies, are_one_object_or_several_that_are_named_by_their_content) {
  auto whole = run(exporter->mask_file(context(), &copy_, 1 << 30));
  ASSERT_TRUE(whole) << whole.error().message() << whole.error().detail();
  ASSERT_EQ(whole->size(), 1U);
  EXPECT_EQ(whole->front().location, copy_.location);
  EXPECT_EQ(whole->front().record_count, 200000);

  auto parts = run(exporter->mask_file(context(), &copy_, 1 << 20));
  ASSERT_TRUE(parts) << parts.error().message() << parts.error().detail();
  ASSERT_GT(parts->size(), 1U);
  std::int64_t rows = 0;
  for (const MaskedPart& part : *parts) {
    EXPECT_THAT(part.location, StartsWith(copy_.location + "-"));
    const std::string name = part.location.substr(at("").size());
    EXPECT_EQ(get(name).size(), static_cast<std::size_t>(part.file_size_bytes));
    rows += part.record_count;
  }
  EXPECT_EQ(rows, 200000);
  auto again = run(exporter->mask_file(context(), &copy_, 1 << 20));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *parts);
}

TEST_F(ExporterMaskedCopies, show_first_rows_of_as_many_row_groups_as_are_paid_for) {
  const auto size = static_cast<std::uint64_t>(copy_.source.file_size_in_bytes);
  auto rows = first(size / 2);
  ASSERT_TRUE(rows) << rows.error().message() << rows.error().detail();
  ASSERT_EQ(rows->rows.size(), 3U);
  EXPECT_EQ(rows->rows[2][0], "2");
  EXPECT_EQ(rows->rows[2][1], "c81e\u2026");
  EXPECT_FALSE(rows->is_all);
  rules_.filters = {R"("id" = 199999)"};
  copy_.rules = std::make_shared<const MaskRules>(rules_);
  rows = first(size / 2);
  ASSERT_TRUE(rows);
  EXPECT_TRUE(rows->rows.empty());
  EXPECT_FALSE(rows->is_all) << "not all of it was looked at";
  rows = first(2 * size);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->rows.size(), 1U);
  EXPECT_TRUE(rows->is_all);
  rows = first(200 << 10);
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().kind(), ErrorKind::kTooLarge);
}

}  // namespace
}  // namespace lake::exporter
