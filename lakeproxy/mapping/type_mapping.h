#pragma once

// DuckLake names a column's type in a text, Iceberg in another, and not every
// value that DuckDB writes is read back the same by Iceberg's clients. One table
// says of each lake type which Iceberg type stands for it, which format version
// that needs, and whether the files that DuckDB wrote serve every client or only
// copies of them do. A type without such a copy is refused by name, because a
// wrong value is worse than no table.
// Sources: DuckLake specification 1.0, "Data types"; Iceberg table
// specification, "Schemas and Data Types". What DuckDB 1.5.5 writes to Parquet
// was looked at for each type.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "lakeproxy/iceberg/schema/type.h"

namespace lake::ducklake {

enum class LakeTypeShape : std::uint8_t { kPrimitive, kStruct, kList, kMap };

/// "struct", "list" and "map" have their parts in rows of their own.
[[nodiscard]] LakeTypeShape shape_of(std::string_view lake_type);

/// What of a data file that DuckDB wrote every Iceberg client reads right.
enum class ReadableAs : std::uint8_t {
  kAsIs,        ///< The file itself.
  kFooterCopy,  ///< A copy with the same pages under a footer that names another type.
  kValueCopy,   ///< A copy with each value converted.
};

/// A primitive lake type as clients see it.
struct ShownType {
  model::Type type;
  std::int32_t format_version = 2;  ///< The lowest that has `type`: 2 or 3.
  ReadableAs how = ReadableAs::kAsIs;
  /// Why the file itself does not do; of kAsIs what else a reader should know. May be empty.
  std::string_view reason;
};

/// What stands for a primitive ducklake_column.column_type, whether or not the
/// table can show it.
/// Errors: kUnsupported  nothing does: Iceberg has no type that holds its values.
///         The message names the type and the reason.
[[nodiscard]] base::Result<ShownType> shown_type(std::string_view lake_type);

/// A primitive lake type without parameters, and the type of DuckDB's that it is.
struct LakeType {
  std::string_view name;
  std::string_view duckdb;
};

/// All that this table knows, also those that are not shown. decimal(P,S) is not among them.
[[nodiscard]] std::vector<LakeType> lake_types();

/// Whether readable copies are made of a table's files.
enum class ReadableCopies : std::uint8_t { kOff, kOn };

/// What a table can show, beside what its types need.
struct ShownIn {
  std::int32_t format_version = 2;
  ReadableCopies copies = ReadableCopies::kOff;
};

/// The type of shown_type(), if a table shown so can have it.
/// Errors: kUnsupported  as shown_type(); it needs a copy and none are made; it
///         needs format version 3 and the table has 2. The message names the
///         type; the caller adds the column.
[[nodiscard]] base::Result<model::Type> iceberg_type(std::string_view lake_type, ShownIn in);

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

/// Whether what DuckDB arranges rows by, given a value of this lake type, is what clients
/// take it for: equal texts of a partition are one value, and the order is Iceberg's.
[[nodiscard]] bool arranges_alike(std::string_view lake_type);

/// Whether DuckDB can read a value that a client wrote, given as one of shown_type(), as one
/// of the lake type: a number out of its range fails DuckDB's whole scan.
[[nodiscard]] bool can_hold(std::string_view lake_type, const model::Literal& value);

/// The other way about: DuckDB reads whatever a client writes to such a column.
[[nodiscard]] bool holds_every_value(std::string_view lake_type);

/// Whether DuckLake's bucket of a value of this lake type is Iceberg's.
[[nodiscard]] bool bucket_is_icebergs(std::string_view lake_type);

}  // namespace lake::ducklake
