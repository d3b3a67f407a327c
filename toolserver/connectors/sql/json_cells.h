#pragma once

// Values of the engine as JSON, without loss: what a JSON number cannot hold
// becomes text. The rules, by the type of the column, not by the value, but
// for 64-bit integers:
//   BOOLEAN                          true, false
//   integers of up to 32 bits        number
//   BIGINT, UBIGINT                  number up to 2^53 - 1 in size, else text
//   HUGEINT, UHUGEINT, BIGNUM,
//   DECIMAL                          text; a DECIMAL with all its digits
//   FLOAT, DOUBLE                    number; "NaN", "Infinity", "-Infinity"
//   VARCHAR, ENUM, JSON              text
//   BLOB, GEOMETRY (as WKB)          base64 text, RFC 4648, section 4
//   BIT                              text of 0 and 1
//   UUID                             text, 8-4-4-4-12
//   DATE, TIME, TIMESTAMP, INTERVAL  ISO 8601 text (temporal_text.h)
//   LIST, ARRAY                      array
//   STRUCT                           object; an array where fields have no names
//   MAP                              array of {"key": k, "value": v}, in order
//   UNION                            {"tag": name, "value": v}
//   NULL                             null
// VARIANT is refused by name; a cast to JSON or to its own type reads it.
// Source: RFC 8259, section 6, for what a number can hold everywhere.

#include <duckdb.h>

#include <memory>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"

namespace tool::connectors {

/// Reads the cells of one column. Made once for a result.
class CellReader {
 public:
  struct Plan;

  /// Errors: kUnsupported  a type that has no rule; the message names it.
  [[nodiscard]] static base::Result<CellReader> of(duckdb_logical_type type);
  CellReader(CellReader&&) noexcept;
  CellReader& operator=(CellReader&&) noexcept;
  ~CellReader();

  /// Bytes that the value at `row` takes as JSON, at least, and looked at no
  /// further than `most`: a long value is known before it is copied.
  [[nodiscard]] std::size_t size(duckdb_vector vector, idx_t row, std::size_t most) const;
  /// The value at `row` of a vector of the column's type.
  [[nodiscard]] base::json::Value cell(duckdb_vector vector, idx_t row) const;

 private:
  explicit CellReader(std::unique_ptr<Plan> plan);
  std::unique_ptr<Plan> plan_;
};

/// "DECIMAL(10,2)", "STRUCT(a INTEGER)": the type as the engine writes it.
[[nodiscard]] std::string type_text(duckdb_logical_type type);

}  // namespace tool::connectors
