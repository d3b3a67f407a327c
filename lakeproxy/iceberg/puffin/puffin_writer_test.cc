#include "lakeproxy/iceberg/puffin/puffin_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/golden.h"
#include "lakeproxy/iceberg/puffin/deletion_vector.h"
#include "lakeproxy/iceberg/puffin/puffin_footer.h"
#include "lakeproxy/iceberg/puffin/sample_vectors.h"

namespace lake::materialize {
namespace {

using base::ErrorKind;
using base::puffin::read_deletion_vector;
using base::testing::read_golden;

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
