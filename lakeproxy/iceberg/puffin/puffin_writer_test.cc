#include "lakeproxy/iceberg/puffin/puffin_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/testing/golden.h"
#include "lakeproxy/iceberg/puffin/deletion_vector.h"
#include "lakeproxy/iceberg/puffin/puffin_footer.h"
#include "lakeproxy/iceberg/puffin/roaring.h"
#include "lakeproxy/iceberg/puffin/sample_vectors.h"

namespace lake::materialize {
namespace {

using base::ErrorKind;
using base::testing::read_golden;
using ::testing::ElementsAre;

std::string_view blob_in(const std::string& file, const BlobPlace& place) {
  return std::string_view(file).substr(static_cast<std::size_t>(place.offset),
                                       static_cast<std::size_t>(place.length));
}

std::vector<std::int64_t> positions_in(std::string_view file) {
  std::vector<std::int64_t> positions;
  for (const VectorPosition& one : *read_deletion_vectors(file)) positions.push_back(one.position);
  return positions;
}

TEST(PuffinWriter, writes_the_vectors_that_java_writes) {
  std::string java = read_golden("iceberg/java_vectors.puffin");
  auto ours = write_puffin(sample_vectors());
  ASSERT_TRUE(ours);
  ASSERT_EQ(ours->blobs.size(), 3);
  for (const BlobPlace& place : ours->blobs) {
    EXPECT_EQ(blob_in(ours->bytes, place), blob_in(java, place)) << place.offset;
  }
}

TEST(PuffinWriter, keeps_its_golden_bytes) {
  auto ours = write_puffin(sample_vectors());
  ASSERT_TRUE(ours);
  EXPECT_TRUE(base::testing::matches_golden("iceberg/written_vectors.puffin", ours->bytes));
  EXPECT_EQ(write_puffin(sample_vectors())->bytes, ours->bytes);
}

TEST(PuffinWriter, writes_what_is_read_again) {
  for (const DeletionVector& vector : sample_vectors()) {
    auto file = write_puffin({vector});
    ASSERT_TRUE(file);
    ASSERT_EQ(file->blobs.size(), 1);
    EXPECT_EQ(positions_in(file->bytes), vector.positions);
    EXPECT_EQ(*read_deletion_vector(blob_in(file->bytes, file->blobs[0])), vector.positions);
  }
  auto all = write_puffin(sample_vectors());
  EXPECT_EQ(read_deletion_vectors(all->bytes)->size(), 81'003);
}

// A file of ours is no history: its vectors are of no snapshot.
TEST(PuffinWriter, says_no_snapshot) {
  for (const VectorPosition& one : *read_deletion_vectors(write_puffin(sample_vectors())->bytes)) {
    ASSERT_EQ(one.snapshot, std::nullopt);
  }
}

TEST(PuffinWriter, reads_what_java_writes) {
  EXPECT_EQ(*read_deletion_vectors(read_golden("iceberg/java_vectors.puffin")),
            *read_deletion_vectors(write_puffin(sample_vectors())->bytes));
}

TEST(PuffinWriter, refuses_what_is_no_set_of_positions) {
  struct Case {
    const char* name;
    std::vector<DeletionVector> vectors;
    bool allowed;
  };
  for (const Case& c : {
           Case{"one", {{"a", {0}}}, true},
           Case{"two files", {{"a", {0}}, {"b", {0}}}, true},
           Case{"last position", {{"a", {INT64_MAX}}}, true},
           Case{"none", {}, false},
           Case{"no positions", {{"a", {}}}, false},
           Case{"negative", {{"a", {-1, 2}}}, false},
           Case{"twice", {{"a", {2, 2}}}, false},
           Case{"descending", {{"a", {2, 1}}}, false},
           Case{"file twice", {{"a", {0}}, {"a", {1}}}, false},
           Case{"not UTF-8", {{"\xff", {0}}}, false},
       }) {
    auto file = write_puffin(c.vectors);
    EXPECT_EQ(file.has_value(), c.allowed) << c.name;
    if (!file) {
      EXPECT_EQ(file.error().kind(), ErrorKind::kInvalid) << c.name;
    }
  }
}

TEST(RoaringWriter, chooses_the_smallest_container) {
  auto size_of = [](std::vector<std::int64_t> values) { return write_roaring64(values).size(); };
  constexpr std::size_t kHead = 8 + 4;                   // Bitmaps, key.
  constexpr std::size_t kPlain = kHead + 4 + 4 + 4 + 4;  // Cookie, count, descriptor, place.
  constexpr std::size_t kRuns = kHead + 4 + 1 + 4;       // Cookie, flags, descriptor.
  EXPECT_EQ(write_roaring64({}).size(), 8);
  EXPECT_EQ(size_of({9}), kPlain + 2);
  // A run costs six bytes, so three values in a row are an array still.
  EXPECT_EQ(size_of({1, 2, 3}), kPlain + 6);
  EXPECT_EQ(size_of({1, 2, 3, 4}), kRuns + 6);
  std::vector<std::int64_t> even;
  for (std::int64_t i = 0; i < 4096; ++i) even.push_back(2 * i);
  EXPECT_EQ(size_of(even), kPlain + 8192);
  even.push_back(2 * 4096);
  EXPECT_EQ(size_of(even), kPlain + 8192);
}

TEST(RoaringWriter, is_read_again_for_random_sets) {
  std::mt19937_64 random(20'261'122);
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t range = std::uint64_t{1} << random() % 40;
    std::set<std::int64_t> values;
    for (std::uint64_t i = 0; i < random() % 6000; ++i) {
      auto first = static_cast<std::int64_t>(random() % range);
      for (std::int64_t j = 0; j <= static_cast<std::int64_t>(random() % 8); ++j) {
        values.insert(first + j);
      }
    }
    std::vector<std::int64_t> sorted(values.begin(), values.end());
    auto read = read_roaring64(write_roaring64(sorted), sorted.size());
    ASSERT_TRUE(read) << round;
    ASSERT_EQ(*read, sorted) << round;
  }
  const std::vector<std::int64_t> ends{0, 65'535, 65'536, 0xffff'ffff, 0x1'0000'0000, INT64_MAX};
  EXPECT_EQ(*read_roaring64(write_roaring64(ends), 6), ends);
}

TEST(PuffinFooter, says_where_each_vector_stands) {
  auto file = write_puffin({{"s3://lake/t/a", {1, 2}}, {"s3://lake/t/b", {7}}});
  ASSERT_TRUE(file);
  auto vectors = read_placed_vectors(file->bytes);
  ASSERT_TRUE(vectors) << vectors.error().message();
  ASSERT_EQ(vectors->size(), 2U);
  EXPECT_EQ((*vectors)[1].data_file, "s3://lake/t/b");
  EXPECT_EQ((*vectors)[1].place, file->blobs[1]);
  auto cut = read_placed_vectors(file->bytes.substr(0, file->bytes.size() - 1));
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().kind(), base::ErrorKind::kCorrupt);
}

}  // namespace
}  // namespace lake::materialize
