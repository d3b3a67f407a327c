#pragma once

// How rows are grouped into partitions, and in which order rows are written.
// Source: Iceberg table specification, "Partitioning" and "Sorting".

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lakeproxy/iceberg/schema/schema.h"

namespace lake::model {

enum class TransformKind : std::uint8_t {
  kIdentity,
  kBucket,
  kTruncate,
  kYear,
  kMonth,
  kDay,
  kHour,
  kVoid,
  kUnknown,
};

struct Transform {
  TransformKind kind = TransformKind::kIdentity;
  std::int32_t parameter = 0;  ///< Buckets, or width of truncate; else 0.
  std::string text;            ///< As given, for kUnknown only.

  friend bool operator==(const Transform&, const Transform&) = default;
};

/// "identity", "bucket[16]", "truncate[4]", "day", "void"...; kUnknown keeps its text.
[[nodiscard]] std::string to_string(const Transform& transform);
[[nodiscard]] Transform parse_transform(std::string_view text);
/// Whether the transform is defined for values of `source`; never for kUnknown.
/// Source: Iceberg table specification, "Partition Transforms".
[[nodiscard]] bool can_transform(const Transform& transform, const Type& source);
/// Whether the transform's values of a column of type `from` are those of the same column as `to`:
/// the same numbers, or ones that every reader widens. Where not, files from before have no value.
/// Source: Iceberg table specification, "Schema Evolution" (partition fields of promoted columns).
[[nodiscard]] bool keeps_values(const Transform& transform, const Type& from, const Type& to);
/// The type of the transform's values. A day is a date: an int on disk.
[[nodiscard]] Type result_type(const Transform& transform, const Type& source);

struct PartitionField {
  FieldId source_id = 0;
  std::int32_t field_id = 0;  ///< From 1000 on.
  std::string name;
  Transform transform;

  friend bool operator==(const PartitionField&, const PartitionField&) = default;
};

struct PartitionSpec {
  std::int32_t spec_id = 0;
  std::vector<PartitionField> fields;

  [[nodiscard]] bool is_unpartitioned() const { return fields.empty(); }
  /// Same fields in order, ids of the spec and of its fields apart.
  [[nodiscard]] bool compatible_with(const PartitionSpec& other) const;
  friend bool operator==(const PartitionSpec&, const PartitionSpec&) = default;
};

/// The last assigned partition field id of a table without partition fields.
inline constexpr std::int32_t kNoPartitionFieldId = 999;

enum class SortDirection : std::uint8_t { kAscending, kDescending };
enum class NullOrder : std::uint8_t { kFirst, kLast };

struct SortField {
  FieldId source_id = 0;
  Transform transform;
  SortDirection direction = SortDirection::kAscending;
  NullOrder null_order = NullOrder::kFirst;

  friend bool operator==(const SortField&, const SortField&) = default;
};

/// Order 0 is the unsorted one and has no fields.
struct SortOrder {
  std::int32_t order_id = 0;
  std::vector<SortField> fields;

  friend bool operator==(const SortOrder&, const SortOrder&) = default;
};

}  // namespace lake::model
