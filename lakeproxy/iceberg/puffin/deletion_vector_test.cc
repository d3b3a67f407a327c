#include "lakeproxy/iceberg/puffin/deletion_vector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/puffin/bitmaps_for_test.h"

namespace lake::materialize {
namespace {

using namespace base::puffin::testing;
using base::ErrorKind;
using base::puffin::kMostPositions;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

template <class T>
ErrorKind kind_of(const base::Result<T>& result) {
  EXPECT_FALSE(result.has_value());
  return result ? ErrorKind::kOutcomeUnknown : result.error().kind();
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
