#pragma once

// The partition tuple inside a manifest: a record whose fields follow from the
// spec, each of its transform's result type.
// Source: Iceberg table specification, "Partitioning"; Appendix A, "Avro".

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/avro/encoder.h"
#include "base/core/result.h"
#include "lakeproxy/iceberg/manifest/manifest.h"

namespace lake::materialize {

struct PartitionColumn {
  std::int32_t field_id = 0;
  std::string name;
  model::Type type;
};

/// One column for each field of the spec, in its order. A void field whose
/// source column is gone has type int; its values are null anyway.
/// Errors: kInvalid  a source column that the schema does not have;
///         otherwise as transform_result_type().
[[nodiscard]] base::Result<std::vector<PartitionColumn>> partition_columns(
    const model::Schema& schema, const model::PartitionSpec& spec);

/// A name that Avro takes: ASCII letters, digits and '_', no digit first. Any
/// other UTF-16 unit becomes "_x" and its hexadecimal number; a leading digit
/// gets '_' before it, as the reference implementation does. Unlike there,
/// letters beyond ASCII are replaced too: Avro does not allow them.
/// Source: Avro 1.12 specification, "Names".
[[nodiscard]] std::string avro_name(std::string_view name);

/// The JSON text of the record type. Names that come out equal get the field
/// id behind them.
[[nodiscard]] std::string partition_record_type(const std::vector<PartitionColumn>& columns);

/// Errors: kInvalid  another number of values than columns, or a value of
///         another type than its column.
[[nodiscard]] base::Status check_partition(const std::vector<PartitionColumn>& columns,
                                           const model::PartitionTuple& tuple);

/// Writes a tuple that check_partition() has passed.
void put_partition(base::avro::Encoder& out, const std::vector<PartitionColumn>& columns,
                   const model::PartitionTuple& tuple);

}  // namespace lake::materialize
