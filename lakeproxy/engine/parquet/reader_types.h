#pragma once

// Which Parquet types Iceberg's readers, all of them, take for a type of the
// table. It is less than the engine casts: some read unsigned numbers as signed
// ones, milliseconds as microseconds, or a decimal of another scale as its digits.
// Source: Iceberg table specification, Appendix A, "Parquet", "Schema Evolution".

#include "lakeproxy/engine/parquet/foreign_parquet.h"
#include "lakeproxy/iceberg/schema/type.h"

namespace lake::exporter {

/// `leaf` of a file as a primitive `type`.
[[nodiscard]] bool is_read_alike(const ParquetNode& leaf, const model::Type& type);

/// `leaf` as a decimal `type`: of the same scale, and of no more digits. Every
/// other type is none.
[[nodiscard]] bool is_narrower_decimal(const ParquetNode& leaf, const model::Type& type);

}  // namespace lake::exporter
