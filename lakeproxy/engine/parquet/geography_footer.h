#pragma once

// DuckDB has one type for geometry and geography. Its Parquet files say geometry, and readers of
// Iceberg that go by the file's word then take a geography for what it is not. The pages of both
// hold the same bytes, well-known binary. So a file becomes one of geography by its footer alone.
// The footer is in Thrift's compact form: the bytes of one value are put in another's place, and
// all that is not known here stays as it is.
// Sources: Apache Parquet format 2.11, "LogicalTypes", "Geospatial", and parquet.thrift; Apache
// Thrift, "Thrift Compact protocol encoding".

#include <map>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "lakeproxy/iceberg/schema/type.h"
#include "lakeproxy/model/ids.h"

namespace lake::exporter {

/// By field id: each is a geography, with its parameters.
using Geographies = std::map<model::FieldId, model::Type>;

/// `footer`, a file's metadata without its length, with these columns as geographies. One that is
/// not in it is passed over. The boxes around a column's values are left out: they are those of
/// the plane, and an edge on a sphere may leave them.
/// Errors: kCorrupt  not a footer, or such a column is something else than a geometry (names its
///         field id).
[[nodiscard]] base::Result<std::string> geography_footer(std::string_view footer,
                                                         const Geographies& columns);

/// Puts that footer into the file at `path`; all before it stays. Blocks.
/// Errors: those of geography_footer() and footer_begin(); kInternal  not read or written.
[[nodiscard]] base::Status write_geography_footer(const std::string& path,
                                                  const Geographies& columns);

}  // namespace lake::exporter
