#pragma once

// A column of a Parquet file as the table has it now: parts are found by their field ids, whatever
// they were called and however wide they were when the file was written.
// Source: Iceberg table specification, "Column Projection".

#include <string>

#include "base/core/result.h"
#include "lakeproxy/engine/parquet/foreign_parquet.h"
#include "lakeproxy/iceberg/schema/schema.h"

namespace lake::exporter {

/// An SQL expression over the file's columns with the value of the top-level column `field`, of the
/// engine's type for it. `node` is null where the file lacks the column: its initial default, else
/// NULL. Errors: kUnsupported  a type that the engine cannot write, or parts without field ids;
///         kCorrupt  the file has a list, map or struct in another's place.
[[nodiscard]] base::Result<std::string> raw_value(const model::Field& field,
                                                  const ParquetNode* node);

}  // namespace lake::exporter
