#include "lakeproxy/from_iceberg/files/manifest_budget.h"

#include <gtest/gtest.h>

namespace lake::operation {
namespace {

materialize::Manifest manifest(std::size_t entries, int columns, std::size_t bytes) {
  materialize::Manifest made;
  made.entries.resize(entries);
  for (auto& entry : made.entries) {
    for (int column = 0; column < columns; ++column) entry.data_file.metrics[column] = {};
  }
  made.unpacked_bytes = bytes;
  return made;
}

TEST(ManifestBudget, what_is_left_gets_less_with_each_manifest) {
  ManifestBudget budget;
  EXPECT_EQ(budget.left().entries, kMostEntries);
  EXPECT_EQ(budget.left().avro.total_bytes, kMostUnpackedBytes);
  ASSERT_TRUE(budget.spend(manifest(100, 3, 1 << 20)));
  EXPECT_EQ(budget.left().entries, kMostEntries - 100);
  EXPECT_EQ(budget.left().statistics, kMostStatistics - 300);
  EXPECT_EQ(budget.left().avro.total_bytes, kMostUnpackedBytes - (1 << 20));
}

TEST(ManifestBudget, each_bound_is_met_exactly) {
  ManifestBudget entries;
  ASSERT_TRUE(entries.spend(manifest(kMostEntries, 0, 0)));
  EXPECT_EQ(entries.spend(manifest(1, 0, 0)).error().kind(), base::ErrorKind::kTooLarge);
  ManifestBudget bytes;
  ASSERT_TRUE(bytes.spend(manifest(1, 0, kMostUnpackedBytes)));
  EXPECT_FALSE(bytes.spend(manifest(1, 0, 1)));
  ManifestBudget statistics;
  ASSERT_TRUE(statistics.spend(manifest(1'000, 1'000, 0)));
  EXPECT_FALSE(statistics.spend(manifest(1'001, 1'000, 0)));
}

}  // namespace
}  // namespace lake::operation
