#include "lakeproxy/iceberg/puffin/deletion_vector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "base/core/text.h"
#include "lakeproxy/iceberg/puffin/roaring.h"

namespace lake::materialize {
namespace {

using base::ErrorKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

template <class T>
ErrorKind kind_of(const base::Result<T>& result) {
  EXPECT_FALSE(result.has_value());
  return result ? ErrorKind::kOutcomeUnknown : result.error().kind();
}

std::string little(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

std::string big(std::uint32_t value) {
  std::string out = little(value, 4);
  return {out.rbegin(), out.rend()};
}

std::string blob_of(const std::string& bitmap) {
  std::string body = "\xd1\xd3\x39\x64" + bitmap;
  auto crc = ::crc32_z(0, reinterpret_cast<const Bytef*>(body.data()), body.size());
  return big(static_cast<std::uint32_t>(body.size())) + body + big(static_cast<std::uint32_t>(crc));
}

// One 32-bit bitmap with one container of an array.
std::string array_part(std::uint32_t high, std::vector<std::uint16_t> values,
                       std::uint16_t key = 0) {
  std::string out = little(high, 4) + little(12'346, 4) + little(1, 4) + little(key, 2) +
                    little(values.size() - 1, 2) + little(16, 4);
  for (auto value : values) out += little(value, 2);
  return out;
}

std::string runs_part(std::vector<std::pair<int, int>> runs, std::uint32_t cardinality) {
  std::string out = little(0, 4) + little(12'347, 4) + little(1, 1) + little(0, 2) +
                    little(cardinality - 1, 2) + little(runs.size(), 2);
  for (auto [start, more] : runs) {
    out += little(static_cast<std::uint64_t>(start), 2);
    out += little(static_cast<std::uint64_t>(more), 2);
  }
  return out;
}

std::string bitset_part(std::uint32_t cardinality, const std::string& bits) {
  return little(0, 4) + little(12'346, 4) + little(1, 4) + little(0, 2) +
         little(cardinality - 1, 2) + little(16, 4) + bits;
}

std::string map_of(std::vector<std::string> parts) {
  std::string out = little(parts.size(), 8);
  for (const auto& part : parts) out += part;
  return out;
}

std::string puffin_of(const std::vector<std::string>& blobs, const std::string& more = "") {
  std::string file = "PFA1";
  std::string list;
  for (const auto& blob : blobs) {
    if (!list.empty()) list += ",";
    list += R"({"type":"deletion-vector-v1","fields":[2147483545],"snapshot-id":-1,)"
            R"("sequence-number":-1,"offset":)" +
            std::to_string(file.size()) + R"(,"length":)" + std::to_string(blob.size()) + more +
            "}";
    file += blob;
  }
  std::string payload = R"({"blobs":[)" + list + "]}";
  return file + "PFA1" + payload + little(payload.size(), 4) + little(0, 4) + "PFA1";
}

// The positions alone, of a file whose vectors are of no snapshot.
base::Result<std::vector<std::int64_t>> read_positions(std::string_view bytes,
                                                       std::size_t limit = kMostPositions) {
  auto read = read_deletion_vectors(bytes, limit);
  if (!read) return std::move(read).error();
  std::vector<std::int64_t> positions;
  for (const VectorPosition& one : *read) {
    EXPECT_EQ(one.snapshot, std::nullopt);
    positions.push_back(one.position);
  }
  return positions;
}

// A vector for each of some snapshots, as DuckDB 2.0 writes them.
std::string snapshots_of(const std::vector<std::pair<std::string, std::string>>& vectors) {
  std::string file = "PFA1";
  std::string list;
  for (const auto& [snapshot, blob] : vectors) {
    if (!list.empty()) list += ",";
    list += R"({"type":"deletion-vector-v1","fields":[2147483545],"snapshot-id":-1,)"
            R"("sequence-number":-1,"offset":)" +
            std::to_string(file.size()) + R"(,"length":)" + std::to_string(blob.size()) +
            R"(,"properties":{"referenced-data-file":"f.parquet")" +
            (snapshot.empty() ? "" : R"(,"ducklake-snapshot-id":)" + snapshot) + "}}";
    file += blob;
  }
  std::string payload = R"({"blobs":[)" + list + "]}";
  return file + "PFA1" + payload + little(payload.size(), 4) + little(0, 4) + "PFA1";
}

// What DuckDB 1.5.5 wrote for DELETE FROM s WHERE i IN (1, 7), with
// write_deletion_vectors.
TEST(DeletionVectorTest, reads_what_duckdb_writes) {
  std::string file = *base::from_hex(
      "00000024d1d339640100000000000000000000003a3000000100000000000100100000000100"
      "07000c5852ad");
  EXPECT_THAT(*read_positions(file), ElementsAre(1, 7));
}

TEST(DeletionVectorTest, reads_every_container) {
  std::string bits(8192, '\0');
  for (int i = 0; i < 5000; ++i)
    bits[static_cast<std::size_t>(i) / 8] |= static_cast<char>(1 << i % 8);
  auto from_bits = read_positions(blob_of(map_of({bitset_part(5000, bits)})));
  ASSERT_TRUE(from_bits);
  ASSERT_EQ(from_bits->size(), 5000);
  for (std::size_t i = 0; i < 5000; ++i) ASSERT_EQ((*from_bits)[i], i);
  EXPECT_THAT(*read_positions(blob_of(map_of({runs_part({{1, 2}, {65'535, 0}}, 4)}))),
              ElementsAre(1, 2, 3, 65'535));
  EXPECT_EQ(read_positions(blob_of(map_of({runs_part({{0, 65'535}}, 65'536)})))->size(), 65'536);
  EXPECT_THAT(*read_positions(blob_of(map_of({array_part(0, {0, 65'535}, 65'535),
                                              array_part(1, {2}), array_part(0x7fff'ffff, {3})}))),
              ElementsAre(0xffff'0000, 0xffff'ffff, 0x1'0000'0002, 0x7fff'ffff'0000'0003));
  EXPECT_THAT(*read_positions(blob_of(map_of({}))), IsEmpty());
}

TEST(DeletionVectorTest, unites_the_vectors_of_a_puffin_file) {
  std::string a = blob_of(map_of({array_part(0, {1, 9})}));
  std::string b = blob_of(map_of({array_part(0, {1, 3})}));
  EXPECT_THAT(*read_positions(puffin_of({a, b})), ElementsAre(1, 3, 9));
  EXPECT_THAT(*read_positions(puffin_of({a}, R"(,"compression-codec":null)")), ElementsAre(1, 9));
  EXPECT_THAT(*read_positions(puffin_of({})), IsEmpty());
}

TEST(DeletionVectorTest, a_position_counts_from_the_first_snapshot_that_has_it) {
  const std::string at3 = blob_of(map_of({array_part(0, {5})}));
  const std::string at5 = blob_of(map_of({array_part(0, {1, 5})}));
  const std::string at9 = blob_of(map_of({array_part(0, {1, 5, 7, 8})}));
  using Read = std::vector<VectorPosition>;
  const Read expected{{1, 5}, {5, 3}, {7, 9}, {8, 9}};
  EXPECT_EQ(
      *read_deletion_vectors(snapshots_of({{R"("3")", at3}, {R"("5")", at5}, {R"("9")", at9}})),
      expected);
  EXPECT_EQ(
      *read_deletion_vectors(snapshots_of({{R"("9")", at9}, {R"("3")", at3}, {R"("5")", at5}})),
      expected)
      << "in any order";
  EXPECT_EQ(*read_deletion_vectors(snapshots_of({{R"("3")", at3}})), (Read{{5, 3}}));
  EXPECT_EQ(*read_deletion_vectors(snapshots_of({{R"("3")", at3}, {R"("4")", at3}})),
            (Read{{5, 3}}));
}

TEST(DeletionVectorTest, refuses_snapshots_that_contradict_each_other) {
  const std::string few = blob_of(map_of({array_part(0, {5})}));
  const std::string other = blob_of(map_of({array_part(0, {6, 7})}));
  EXPECT_EQ(kind_of(read_deletion_vectors(snapshots_of({{R"("3")", few}, {R"("5")", other}}))),
            ErrorKind::kCorrupt)
      << "the younger lacks a position";
  EXPECT_EQ(kind_of(read_deletion_vectors(snapshots_of({{R"("3")", few}, {"", few}}))),
            ErrorKind::kCorrupt)
      << "one without a snapshot";
  for (const char* id : {"3", R"("")", R"("x")", R"("-1")", "null", "[]"}) {
    EXPECT_EQ(kind_of(read_deletion_vectors(snapshots_of({{id, few}}))), ErrorKind::kCorrupt) << id;
  }
  const std::string runs = blob_of(map_of({runs_part({{0, 99}}, 100)}));
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 17; ++i) many.emplace_back('"' + std::to_string(i) + '"', runs);
  EXPECT_EQ(kind_of(read_deletion_vectors(snapshots_of(many), 100)), ErrorKind::kTooLarge);
  many.pop_back();
  EXPECT_EQ(read_deletion_vectors(snapshots_of(many), 100)->size(), 100U);
}

TEST(DeletionVectorTest, refuses_what_it_does_not_read) {
  std::string a = blob_of(map_of({array_part(0, {1})}));
  EXPECT_EQ(kind_of(read_positions(puffin_of({a}, R"(,"compression-codec":"zstd")"))),
            ErrorKind::kUnsupported);
  std::string compressed = puffin_of({a});
  compressed[compressed.size() - 8] = 1;
  EXPECT_EQ(kind_of(read_positions(compressed)), ErrorKind::kUnsupported);
}

TEST(DeletionVectorTest, refuses_every_cut) {
  for (const std::string& whole :
       {blob_of(map_of({array_part(0, {1, 2, 3}), runs_part({{1, 2}}, 3).replace(0, 1, "\1")})),
        puffin_of({blob_of(map_of({array_part(0, {1})}))})}) {
    ASSERT_TRUE(read_positions(whole));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      ASSERT_EQ(kind_of(read_positions(whole.substr(0, size))), ErrorKind::kCorrupt) << size;
    }
    ASSERT_EQ(kind_of(read_positions(whole + "x")), ErrorKind::kCorrupt);
  }
  // Also behind a checksum that is right.
  std::string bitmap = map_of({array_part(0, {1, 2, 3}), array_part(1, {1})});
  for (std::size_t size = 0; size < bitmap.size(); ++size) {
    ASSERT_EQ(kind_of(read_positions(blob_of(bitmap.substr(0, size)))), ErrorKind::kCorrupt);
  }
  EXPECT_EQ(kind_of(read_positions(blob_of(bitmap + "x"))), ErrorKind::kCorrupt);
}

TEST(DeletionVectorTest, refuses_every_changed_byte_of_a_vector) {
  std::string whole = blob_of(map_of({array_part(0, {1, 2, 3})}));
  for (char& c : whole) {
    c = static_cast<char>(c ^ 0x40);
    ASSERT_EQ(kind_of(read_positions(whole)), ErrorKind::kCorrupt);
    c = static_cast<char>(c ^ 0x40);
  }
}

TEST(DeletionVectorTest, refuses_bitmaps_that_contradict_themselves) {
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
    EXPECT_EQ(kind_of(read_positions(blob_of(c.bitmap))), ErrorKind::kCorrupt) << c.name;
  }
}

TEST(DeletionVectorTest, reads_up_to_its_limit) {
  std::string runs = blob_of(map_of({runs_part({{0, 99}}, 100)}));
  EXPECT_EQ(read_positions(runs, 100)->size(), 100);
  EXPECT_EQ(kind_of(read_positions(runs, 99)), ErrorKind::kTooLarge);
  EXPECT_EQ(kind_of(read_positions(puffin_of({runs, runs}), 199)), ErrorKind::kTooLarge);
}

TEST(DeletionVectorTest, refuses_footers_that_lie) {
  std::string a = blob_of(map_of({array_part(0, {1})}));
  struct Case {
    const char* name;
    std::string file;
  };
  auto with = [&](std::string payload) {
    return "PFA1" + a + "PFA1" + payload + little(payload.size(), 4) + little(0, 4) + "PFA1";
  };
  auto size = std::to_string(a.size());
  std::string entry = R"({"type":"deletion-vector-v1","offset":4,"length":)" + size + "}";
  EXPECT_TRUE(read_positions(with(R"({"blobs":[)" + entry + "]}")));
  for (const Case& c : {
           Case{"only magic", "PFA1PFA1"},
           Case{"footer longer than the file",
                "PFA1" + a + "PFA1{}" + little(UINT32_MAX, 4) + little(0, 4) + "PFA1"},
           Case{"no magic before the footer", "PFA1XXXX{}" + little(2, 4) + little(0, 4) + "PFA1"},
           Case{"not JSON", with("{")},
           Case{"not an object", with("[]")},
           Case{"no blobs", with("{}")},
           Case{"blobs not a list", with(R"({"blobs":{}})")},
           Case{"blob not an object", with(R"({"blobs":[1]})")},
           Case{"blob without type", with(R"({"blobs":[{}]})")},
           Case{"blob without place", with(R"({"blobs":[{"type":"deletion-vector-v1"}]})")},
           Case{"negative offset",
                with(R"({"blobs":[{"type":"deletion-vector-v1","offset":-4,"length":4}]})")},
           Case{"offset outside",
                with(R"({"blobs":[{"type":"deletion-vector-v1","offset":99999,"length":0}]})")},
           Case{"length outside",
                with(R"({"blobs":[{"type":"deletion-vector-v1","offset":4,"length":99999}]})")},
           Case{"sum overflows", with(R"({"blobs":[{"type":"deletion-vector-v1",)"
                                      R"("offset":4,"length":9223372036854775807}]})")},
       }) {
    EXPECT_EQ(kind_of(read_positions(c.file)), ErrorKind::kCorrupt) << c.name;
  }
}

// It must be longer than its footer's entry, or the file would have room.
TEST(DeletionVectorTest, reads_no_byte_of_a_file_twice) {
  std::vector<std::uint16_t> values(2000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint16_t>(i);
  std::string a = blob_of(map_of({array_part(0, values)}));
  std::string entry =
      R"({"type":"deletion-vector-v1","offset":4,"length":)" + std::to_string(a.size()) + "}";
  std::string payload = R"({"blobs":[)" + entry + "," + entry + "]}";
  EXPECT_EQ(kind_of(read_positions("PFA1" + a + "PFA1" + payload + little(payload.size(), 4) +
                                   little(0, 4) + "PFA1")),
            ErrorKind::kCorrupt);
}

}  // namespace
}  // namespace lake::materialize
