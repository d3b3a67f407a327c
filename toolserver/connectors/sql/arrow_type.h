#pragma once

// Arrow's types as values: what a format string of the C data interface says,
// and how the columns of such a type lie in memory.
// Source: Arrow Columnar Format 1.5, "Physical Memory Layout" and "Data type
// description - format strings".

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "toolserver/connectors/sql/arrow_c_data.h"

namespace tool::connectors {

/// The members are the tags of the union Type in Arrow's Schema.fbs.
enum class ArrowTag : std::uint8_t {
  kNull = 1,
  kInt = 2,
  kFloat = 3,
  kBinary = 4,
  kUtf8 = 5,
  kBool = 6,
  kDecimal = 7,
  kDate = 8,
  kTime = 9,
  kTimestamp = 10,
  kInterval = 11,
  kList = 12,
  kStruct = 13,
  kFixedBinary = 15,
  kFixedList = 16,
  kMap = 17,
  kDuration = 18,
  kLargeBinary = 19,
  kLargeUtf8 = 20,
  kLargeList = 21,
};

struct ArrowField {
  std::string name;
  ArrowTag tag = ArrowTag::kNull;
  bool nullable = true;
  bool is_signed = false;      ///< Of kInt.
  std::int32_t width = 0;      ///< Bits of a number; bytes of kFixedBinary; items of kFixedList.
  std::int32_t precision = 0;  ///< Of kDecimal.
  std::int32_t scale = 0;
  std::int16_t unit = 0;  ///< Of times: 0 s, 1 ms, 2 us, 3 ns; as the tag's own enum.
  std::string zone;       ///< Of kTimestamp.
  std::vector<ArrowField> children;
};

/// Errors: kUnsupported  a type without a rule here, or a dictionary; the
///         message names the column.
[[nodiscard]] base::Result<ArrowField> arrow_field(const ArrowSchema& schema);

}  // namespace tool::connectors
