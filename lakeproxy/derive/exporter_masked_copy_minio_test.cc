#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lakeproxy/derive/exporter_fixture_test.h"

namespace lake::exporter {
namespace {

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

}  // namespace
}  // namespace lake::exporter
