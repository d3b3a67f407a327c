#include "base/puffin/deletion_vector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/core/text.h"
#include "base/puffin/bitmaps_for_test.h"
#include "base/puffin/roaring.h"

namespace base::puffin {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

template <class T>
ErrorKind kind_of(const Result<T>& result) {
  EXPECT_FALSE(result.has_value());
  return result ? ErrorKind::kOutcomeUnknown : result.error().kind();
}

// What DuckDB 1.5.5 wrote for DELETE FROM s WHERE i IN (1, 7), with
// write_deletion_vectors.
TEST(DeletionVector, reads_what_duckdb_writes) {
  std::string file = *from_hex(
      "00000024d1d339640100000000000000000000003a3000000100000000000100100000000100"
      "07000c5852ad");
  EXPECT_THAT(*read_deletion_vector(file), ElementsAre(1, 7));
}

TEST(DeletionVector, reads_every_container) {
  std::string bits(8192, '\0');
  for (int i = 0; i < 5000; ++i)
    bits[static_cast<std::size_t>(i) / 8] |= static_cast<char>(1 << i % 8);
  auto from_bits = read_deletion_vector(blob_of(map_of({bitset_part(5000, bits)})));
  ASSERT_TRUE(from_bits);
  ASSERT_EQ(from_bits->size(), 5000);
  for (std::size_t i = 0; i < 5000; ++i) ASSERT_EQ((*from_bits)[i], i);
  EXPECT_THAT(*read_deletion_vector(blob_of(map_of({runs_part({{1, 2}, {65'535, 0}}, 4)}))),
              ElementsAre(1, 2, 3, 65'535));
  EXPECT_EQ(read_deletion_vector(blob_of(map_of({runs_part({{0, 65'535}}, 65'536)})))->size(),
            65'536);
  EXPECT_THAT(
      *read_deletion_vector(blob_of(map_of(
          {array_part(0, {0, 65'535}, 65'535), array_part(1, {2}), array_part(0x7fff'ffff, {3})}))),
      ElementsAre(0xffff'0000, 0xffff'ffff, 0x1'0000'0002, 0x7fff'ffff'0000'0003));
  EXPECT_THAT(*read_deletion_vector(blob_of(map_of({}))), IsEmpty());
}

TEST(DeletionVector, refuses_every_changed_byte_of_a_vector) {
  std::string whole = blob_of(map_of({array_part(0, {1, 2, 3})}));
  for (char& c : whole) {
    c = static_cast<char>(c ^ 0x40);
    ASSERT_EQ(kind_of(read_deletion_vector(whole)), ErrorKind::kCorrupt);
    c = static_cast<char>(c ^ 0x40);
  }
}

TEST(DeletionVector, refuses_bitmaps_that_contradict_themselves) {
  std::string bits(8192, '\xff');
  struct Case {
    const char* name;
    std::string bitmap;
  };
  for (const Case& c : {
           Case{"count of parts", little(UINT64_MAX, 8) + array_part(0, {1})},
           Case{"part of 2^31", map_of({array_part(0x8000'0000, {1})})},
           Case{"parts twice", map_of({array_part(1, {1}), array_part(1, {2})})},
           Case{"parts descending", map_of({array_part(2, {1}), array_part(1, {2})})},
           Case{"cookie", map_of({little(0, 4) + little(1, 4)})},
           Case{"containers", map_of({little(0, 4) + little(12'346, 4) + little(65'537, 4)})},
           Case{"containers without bytes",
                map_of({little(0, 4) + little(12'347, 2) + little(0xffff, 2)})},
           Case{"array twice", map_of({array_part(0, {1, 1})})},
           Case{"array descending", map_of({array_part(0, {2, 1})})},
           Case{"bit set of more", map_of({bitset_part(5000, bits)})},
           Case{"bit set cut", map_of({bitset_part(65'536, bits.substr(1))})},
           Case{"runs of fewer", map_of({runs_part({{1, 2}}, 4)})},
           Case{"runs of more", map_of({runs_part({{1, 2}, {10, 100}}, 4)})},
           Case{"runs overlap", map_of({runs_part({{1, 2}, {3, 0}}, 4)})},
           Case{"runs past the end", map_of({runs_part({{65'535, 1}}, 2)})},
       }) {
    EXPECT_EQ(kind_of(read_deletion_vector(blob_of(c.bitmap))), ErrorKind::kCorrupt) << c.name;
  }
}

TEST(DeletionVector, is_written_as_it_is_read) {
  const std::vector<std::int64_t> positions{0, 1, 2, 65'536, 0x1'0000'0000, INT64_MAX};
  EXPECT_EQ(*read_deletion_vector(write_deletion_vector(positions)), positions);
  EXPECT_THAT(*read_deletion_vector(write_deletion_vector({})), IsEmpty());
}

TEST(DeletionVector, is_refused_at_every_cut) {
  const std::string bitmap = map_of({array_part(0, {1, 2, 3}), array_part(1, {1})});
  const std::string whole = blob_of(bitmap);
  ASSERT_TRUE(read_deletion_vector(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ASSERT_EQ(kind_of(read_deletion_vector(whole.substr(0, size))), ErrorKind::kCorrupt) << size;
  }
  EXPECT_EQ(kind_of(read_deletion_vector(whole + "x")), ErrorKind::kCorrupt);
  // Also behind a checksum that is right.
  for (std::size_t size = 0; size < bitmap.size(); ++size) {
    ASSERT_EQ(kind_of(read_deletion_vector(blob_of(bitmap.substr(0, size)))), ErrorKind::kCorrupt);
  }
}

TEST(DeletionVector, is_read_up_to_a_limit) {
  const std::string runs = blob_of(map_of({runs_part({{0, 99}}, 100)}));
  EXPECT_EQ(read_deletion_vector(runs, 100)->size(), 100U);
  EXPECT_EQ(kind_of(read_deletion_vector(runs, 99)), ErrorKind::kTooLarge);
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

}  // namespace
}  // namespace base::puffin
