#pragma once

// Sets of positions in the portable Roaring format, from files that we did not
// write. Every count in them is checked against the bytes that are there, and
// against the values it announces, before anything is taken from it.
// Source: Roaring bitmap format specification, "Standard 32-bit Roaring
// Bitmap", "Extension for 64-bit implementations".

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace lake::exporter {

/// The values of a whole 64-bit bitmap, ascending.
/// Errors: kCorrupt  not a bitmap, bytes left over, or a value of 2^63 and
///         more; kTooLarge  over `limit` values.
[[nodiscard]] base::Result<std::vector<std::int64_t>> read_roaring64(std::string_view bytes,
                                                                     std::size_t limit);

}  // namespace lake::exporter
