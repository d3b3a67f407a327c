#pragma once

// DuckLake names a column's type in a text, Iceberg in another, and not every
// value that DuckDB writes is read back the same by Iceberg's clients. A type
// is shown only if it is; any other is refused by name, because a wrong value
// is worse than no table.
// Sources: DuckLake specification 1.0, "Data types"; Iceberg table
// specification, "Schemas and Data Types". What DuckDB 1.5.5 writes to Parquet
// was looked at for each type.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "lakeproxy/iceberg/schema/type.h"

namespace lake::ducklake {

enum class LakeTypeShape : std::uint8_t { kPrimitive, kStruct, kList, kMap };

/// "struct", "list" and "map" have their parts in rows of their own.
[[nodiscard]] LakeTypeShape shape_of(std::string_view lake_type);

/// The Iceberg type of a primitive ducklake_column.column_type.
/// Errors: kUnsupported  Iceberg has no such type, its readers would misread
///         the files, or it needs format version 3 and the table has 2. The
///         message names the type; the caller adds the column.
[[nodiscard]] base::Result<model::Type> iceberg_type(std::string_view lake_type,
                                                     std::int32_t format_version);

/// The column_type to write for an Iceberg type; the parts of a nested type
/// are rows of their own. fixed[L] is kept as a blob: the length stands in the
/// sidecar's schema.
/// Errors: kUnsupported  the lake has no such type (names it).
[[nodiscard]] base::Result<std::string> lake_type(const model::Type& type);

/// lake_type of a column or a part of one; the error names it.
[[nodiscard]] base::Result<std::string> lake_column_type(const model::Field& field);

/// Whether a lake column whose Iceberg type is `held` can stand for a client's
/// `given`: equal, or the client's is one that the lake keeps as another.
/// Nested types are compared by kind only.
[[nodiscard]] bool can_stand_for(const model::Type& held, const model::Type& given);

/// Whether values written as `from` are read right as `to` by every reader.
/// Source: Iceberg table specification, "Schema Evolution".
[[nodiscard]] bool can_promote(const model::Type& from, const model::Type& to);

/// Whether DuckLake's bucket of a value of this lake type is Iceberg's.
[[nodiscard]] bool bucket_is_icebergs(std::string_view lake_type);

}  // namespace lake::ducklake
