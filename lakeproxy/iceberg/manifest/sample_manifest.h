#pragma once

// The manifest that the tests here write, and that foreign writers wrote into
// tests/golden/iceberg: one partition field of each kind, a new file with
// all statistics, an old one without any, a deleted one. For tests only.

#include <string>
#include <vector>

#include "base/core/text.h"
#include "lakeproxy/iceberg/manifest/manifest.h"

namespace lake::materialize {

inline model::Schema sample_schema() {
  using model::Type;
  using model::TypeKind;
  return {.schema_id = 2,
          .fields = {{.id = 1, .name = "id", .type = Type(TypeKind::kLong)},
                     {.id = 2, .name = "name", .type = Type(TypeKind::kString)},
                     {.id = 3, .name = "ts", .type = Type(TypeKind::kTimestamptz)},
                     {.id = 4, .name = "day", .type = Type(TypeKind::kDate)},
                     {.id = 5, .name = "amount", .type = Type::decimal(9, 2)},
                     {.id = 6, .name = "uid", .type = Type(TypeKind::kUuid)},
                     {.id = 7, .name = "code", .type = Type::fixed(4)},
                     {.id = 8, .name = "raw", .type = Type(TypeKind::kBinary)},
                     {.id = 9, .name = "flag", .type = Type(TypeKind::kBoolean)},
                     {.id = 10, .name = "ratio", .type = Type(TypeKind::kDouble)},
                     {.id = 11,
                      .name = "gr\xC3\xB6\xC3\x9F"
                              "e",
                      .type = Type(TypeKind::kInt)},
                     {.id = 12, .name = "clock", .type = Type(TypeKind::kTime)},
                     {.id = 13, .name = "single", .type = Type(TypeKind::kFloat)}}};
}

inline model::PartitionSpec sample_spec() {
  using model::TransformKind;
  return {.spec_id = 3,
          .fields = {{1, 1000, "id_bucket", {TransformKind::kBucket, 16}},
                     {2, 1001, "name_trunc", {TransformKind::kTruncate, 4}},
                     {3, 1002, "ts_day", {TransformKind::kDay}},
                     {4, 1003, "day_month", {TransformKind::kMonth}},
                     {5, 1004, "amount", {TransformKind::kIdentity}},
                     {6, 1005, "uid", {TransformKind::kIdentity}},
                     {7, 1006, "code", {TransformKind::kIdentity}},
                     {8, 1007, "raw", {TransformKind::kIdentity}},
                     {9, 1008, "flag", {TransformKind::kIdentity}},
                     {10, 1009, "ratio", {TransformKind::kIdentity}},
                     {11,
                      1010,
                      "gr\xC3\xB6\xC3\x9F"
                      "e",
                      {TransformKind::kIdentity}},
                     {12, 1011, "clock", {TransformKind::kIdentity}},
                     {3, 1012, "1st ts", {TransformKind::kIdentity}},
                     {13, 1013, "single", {TransformKind::kVoid}}}};
}

inline model::ManifestHeader sample_header() {
  return {.schema = sample_schema(), .spec = sample_spec()};
}

inline model::PartitionTuple sample_partition() {
  using model::Literal;
  return {Literal(std::int32_t{5}),
          Literal(std::string("iceb")),
          Literal(std::int32_t{17486}),
          Literal(std::int32_t{574}),
          Literal(model::Decimal{1420}),
          Literal(*base::parse_uuid("f79c3e09-677c-4bbd-a479-3f349cb785e7")),
          Literal(model::Bytes{std::string("\0\1\2\3", 4)}),
          Literal(model::Bytes{"\x01\xFF"}),
          Literal(true),
          Literal(1.5),
          Literal(std::int32_t{-7}),
          Literal(std::int64_t{81'068'000'000}),
          Literal(std::int64_t{1'510'871'468'000'000}),
          std::nullopt};
}

/// The bounds of column 1 are 1 and 100, as binary single values.
inline model::DataFile sample_file() {
  const auto long_bytes = [](char low) { return low + std::string(7, '\0'); };
  return {.file_path = "s3://lake/t/data/a.parquet",
          .partition = sample_partition(),
          .record_count = 100,
          .file_size_in_bytes = 4096,
          .metrics = {{1,
                       {.column_size = 800,
                        .value_count = 100,
                        .null_count = 0,
                        .lower_bound = long_bytes(1),
                        .upper_bound = long_bytes(100)}},
                      {2,
                       {.column_size = 1200,
                        .value_count = 100,
                        .null_count = 7,
                        .lower_bound = "abc",
                        .upper_bound = "xyz"}},
                      {10, {.value_count = 100, .nan_count = 2}}},
          .key_metadata = std::string("\x00\xFF", 2),
          .split_offsets = {4, 2048},
          .sort_order_id = 0};
}

inline std::vector<model::ManifestEntry> sample_entries() {
  model::DataFile plain{.file_path = "s3://lake/t/data/b.parquet",
                        .partition = model::PartitionTuple(sample_spec().fields.size()),
                        .record_count = 1,
                        .file_size_in_bytes = 512,
                        .sort_order_id = 0};
  model::DataFile gone = plain;
  gone.file_path = "s3://lake/t/data/c.parquet";
  gone.file_format = model::FileFormat::kOrc;
  return {{.status = model::EntryStatus::kAdded,
           .snapshot_id = model::SnapshotId(9),
           .data_file = sample_file()},
          {.status = model::EntryStatus::kExisting,
           .snapshot_id = model::SnapshotId(7),
           .sequence_number = 3,
           .file_sequence_number = 2,
           .data_file = plain},
          {.status = model::EntryStatus::kDeleted,
           .snapshot_id = model::SnapshotId(9),
           .sequence_number = 4,
           .file_sequence_number = 4,
           .data_file = gone}};
}

inline model::ManifestHeader sample_delete_header() {
  return {.schema = sample_schema(), .spec = {}, .content = model::FileContent::kPositionDeletes};
}

/// A position delete of one file, and an equality delete.
inline std::vector<model::ManifestEntry> sample_deletes() {
  return {{.snapshot_id = model::SnapshotId(9),
           .data_file = {.content = model::FileContent::kPositionDeletes,
                         .file_path = "s3://lake/t/data/d.parquet",
                         .record_count = 2,
                         .file_size_in_bytes = 100,
                         .referenced_data_file = "s3://lake/t/data/a.parquet"}},
          {.snapshot_id = model::SnapshotId(9),
           .data_file = {.content = model::FileContent::kEqualityDeletes,
                         .file_path = "s3://lake/t/data/e.parquet",
                         .record_count = 3,
                         .file_size_in_bytes = 200,
                         .equality_ids = {1, 2},
                         .sort_order_id = 0}}};
}

/// As sample_entries(), of format version 3: one file's row ids follow from the
/// manifest list.
inline std::vector<model::ManifestEntry> sample_entries_v3() {
  std::vector<model::ManifestEntry> entries = sample_entries();
  entries[0].data_file.first_row_id = 1000;
  entries[1].data_file.first_row_id = 40;
  return entries;
}

/// Deletion vectors of two files, as two blobs of one Puffin file.
inline std::vector<model::ManifestEntry> sample_vector_entries() {
  model::DataFile first{.content = model::FileContent::kPositionDeletes,
                        .file_path = "s3://lake/t/data/f.puffin",
                        .file_format = model::FileFormat::kPuffin,
                        .record_count = 2,
                        .file_size_in_bytes = 300,
                        .referenced_data_file = "s3://lake/t/data/a.parquet",
                        .content_offset = 4,
                        .content_size_in_bytes = 44};
  model::DataFile second = first;
  second.referenced_data_file = "s3://lake/t/data/b.parquet";
  second.content_offset = 48;
  return {{.snapshot_id = model::SnapshotId(9), .data_file = first},
          {.snapshot_id = model::SnapshotId(9), .data_file = second}};
}

}  // namespace lake::materialize
