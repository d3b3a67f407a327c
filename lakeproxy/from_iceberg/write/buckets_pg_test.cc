// ADR 0050: which buckets of a client the lake is told of.

#include "lakeproxy/from_iceberg/write/writer_fixture_test.h"

namespace lake::ducklake {
namespace {

using model::Literal;

class Buckets : public WriterFixture {
 protected:
  static constexpr auto kBucket = "bucket[3]";

  /// What the change would be that gives the table this default spec.
  TableChange with_spec(const char* transform, std::vector<AddedFile> files = {}) {
    auto before = load("t");
    TableChange wanted{before, before->metadata, {}};
    model::PartitionSpec spec;
    if (transform != nullptr) spec.fields = {{1, 0, "p", model::parse_transform(transform)}};
    auto id = model::add_spec(wanted.after, spec);
    EXPECT_TRUE(id) << id.error().message();
    EXPECT_TRUE(model::set_default_spec(wanted.after, *id));
    if (!files.empty()) {
      for (AddedFile& file : files) {
        if (file.spec_id < 0) file.spec_id = *id;
      }
      wanted.snapshots = {{model::SnapshotId(70), std::move(files), ""}};
    }
    return wanted;
  }
  static AddedFile bucketed(std::int32_t spec_id) {
    AddedFile added = file("s3://lake/data/main/t/b.parquet", 5, 5);
    added.file.partition = {Literal(std::int32_t{2})};
    added.spec_id = spec_id;
    return added;
  }
  AddedFile flat() {
    AddedFile added = file("s3://lake/data/main/t/f.parquet", 5, 5);
    added.spec_id = load("t")->unpartitioned_spec_id.value();
    return added;
  }
  /// The keys of the partition by which DuckDB writes.
  std::string keys() {
    return ask(
        "SELECT string_agg(transform, ' ') FROM @ducklake_partition_column JOIN "
        "@ducklake_partition_info USING (partition_id) WHERE end_snapshot IS NULL");
  }
  /// The numbers that the files have there.
  std::string numbers() {
    return ask(
        "SELECT string_agg(f.partition_id || ':' || v.partition_value, ' ' ORDER BY data_file_id) "
        "FROM @ducklake_data_file f JOIN @ducklake_file_partition_value v USING (data_file_id)");
  }
  static constexpr std::int32_t kNew = -1;
};

TEST_F(Buckets, files_that_come_with_the_bucket_have_its_number) {
  auto made = metadata("t", model::parse_transform(kBucket));
  const std::int32_t spec = made.default_spec_id;
  auto lake = writer();
  auto done = run(lake.create_table(
      soon(), {{kMain, "t"}, made, {{model::SnapshotId(70), {bucketed(spec)}, ""}}}));
  ASSERT_TRUE(done) << done.error().message() << done.error().detail();
  EXPECT_EQ(keys(), "bucket(3)");
  EXPECT_EQ(numbers(), ask("SELECT partition_id FROM @ducklake_partition_info") + ":2");
  EXPECT_EQ(load("t")->bucketed_partition.has_value(), true);
}

TEST_F(Buckets, of_a_table_without_files_may_come_with_the_first) {
  make_table("t");
  auto done = change(with_spec(kBucket, {bucketed(kNew)}));
  ASSERT_TRUE(done) << done.error().message() << done.error().detail();
  EXPECT_EQ(keys(), "bucket(3)");
  EXPECT_EQ(numbers(), ask("SELECT partition_id FROM @ducklake_partition_info") + ":2");
}

TEST_F(Buckets, are_no_keys_of_the_lake_beside_other_files) {
  make_table("t");
  ASSERT_TRUE(append(load("t"), {{model::SnapshotId(60), {flat()}, ""}}));
  ASSERT_TRUE(change(with_spec(kBucket)));
  EXPECT_EQ(keys(), "");
  auto table = load("t");
  EXPECT_EQ(table->metadata.find_spec(table->metadata.default_spec_id)->fields.size(), 1);
  auto added =
      append(table, {{model::SnapshotId(61), {bucketed(table->metadata.default_spec_id)}, ""}});
  ASSERT_TRUE(added) << added.error().message();
  // To none, and back: still the other file is there.
  ASSERT_TRUE(change(with_spec(nullptr)));
  EXPECT_TRUE(
      load("t")->metadata.find_spec(load("t")->metadata.default_spec_id)->is_unpartitioned());
  ASSERT_TRUE(change(with_spec(kBucket)));
  EXPECT_EQ(load("t")->metadata.default_spec_id, table->metadata.default_spec_id);
  EXPECT_EQ(keys(), "");
}

TEST_F(Buckets, are_no_keys_of_the_lake_where_a_file_of_another_spec_comes_with_them) {
  make_table("t");
  ASSERT_TRUE(change(with_spec(kBucket, {bucketed(kNew), flat()})));
  EXPECT_EQ(keys(), "");
  EXPECT_EQ(numbers(), "");
}

TEST_F(Buckets, may_come_when_the_table_is_replaced) {
  make_table("t");
  ASSERT_TRUE(append(load("t"), {{model::SnapshotId(60), {flat()}, ""}}));
  TableChange replaced = with_spec(kBucket, {bucketed(kNew)});
  replaced.content = Content::kEnds;
  ASSERT_TRUE(change(std::move(replaced)));
  EXPECT_EQ(keys(), "bucket(3)");
  EXPECT_NE(numbers(), "");
}

TEST_F(Buckets, a_file_without_a_number_is_refused_where_duckdb_looks_for_one) {
  make_table("t");
  ASSERT_TRUE(change(with_spec(kBucket)));
  ASSERT_EQ(keys(), "bucket(3)");
  auto refused = append(load("t"), {{model::SnapshotId(60), {flat()}, ""}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), base::ErrorKind::kUnsupported);
  EXPECT_NE(refused.error().message().find("RESET PARTITIONED BY"), std::string::npos);
  // DuckDB takes the bucket away.
  const auto table = load("t");
  snapshot(table->version.snapshot.value + 1, "altered_table:1",
           fmt::format("UPDATE ducklake_partition_info SET end_snapshot = {};",
                       table->version.snapshot.value + 1));
  EXPECT_FALSE(load("t")->bucketed_partition);
  EXPECT_TRUE(append(load("t"), {{model::SnapshotId(60), {flat()}, ""}}));
}

}  // namespace
}  // namespace lake::ducklake
