#pragma once

// From decoded Avro values to the model's, by field id. A foreign writer may
// order fields as it likes, widen an int to a long, or leave ids out.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/avro/value.h"
#include "base/core/result.h"
#include "lakeproxy/iceberg/schema/literal.h"
#include "lakeproxy/iceberg/schema/type.h"

namespace lake::materialize {

/// The longest path of a file or manifest that is read: four times that of an S3 object.
inline constexpr std::size_t kMostPathBytes = 4096;

/// A field that the format defines, for writers that leave its id out.
struct KnownField {
  std::string_view name;
  std::int32_t id;
};

inline constexpr std::int32_t kNoFieldId = -1;

/// The field ids of one kind of record, in a writer's order.
class FieldIds {
 public:
  explicit FieldIds(std::span<const KnownField> known) : known_(known) {}

  /// One id for each field of `record`; kNoFieldId where there is none.
  [[nodiscard]] const std::vector<std::int32_t>& of(const base::avro::Node& record);

 private:
  std::span<const KnownField> known_;
  std::unordered_map<const base::avro::Node*, std::vector<std::int32_t>> ids_;
};

/// Calls `take(id, value)` for each field of a record; stops at the first error.
template <class Take>
base::Status for_each_field(base::avro::Value record, FieldIds& ids, Take take) {
  if (record.type() != base::avro::Type::kRecord) {
    return base::fail(base::ErrorKind::kCorrupt, "manifest: a record was expected");
  }
  const std::vector<std::int32_t>& by_position = ids.of(record.node());
  std::size_t position = 0;
  for (base::avro::Value value : record) {
    RETURN_IF_ERROR(take(by_position[position++], value));
  }
  return {};
}

// Each fails with kCorrupt when the value is null or of another kind. `what`
// names the field in the message.

[[nodiscard]] base::Result<std::int64_t> long_of(base::avro::Value value, std::string_view what);
/// Also not negative.
[[nodiscard]] base::Result<std::int64_t> count_of(base::avro::Value value, std::string_view what);
[[nodiscard]] base::Result<std::int32_t> int_of(base::avro::Value value, std::string_view what);
[[nodiscard]] base::Result<bool> boolean_of(base::avro::Value value, std::string_view what);
[[nodiscard]] base::Result<std::string> bytes_of(base::avro::Value value, std::string_view what);
/// Also not over kMostPathBytes.
[[nodiscard]] base::Result<std::string> path_of(base::avro::Value value, std::string_view what);

/// The Iceberg type that a partition value was written as; for partition
/// fields whose source column or transform is not known.
[[nodiscard]] model::Type type_of(const base::avro::Node& node);

/// A value that is not null, as a literal of that type.
/// Errors: kCorrupt  the value cannot be one of that type.
[[nodiscard]] base::Result<model::Literal> literal_of(base::avro::Value value,
                                                      const model::Type& type);

}  // namespace lake::materialize
