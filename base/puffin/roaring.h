#pragma once

// Sets of positions in the portable Roaring format, also from files that we
// did not write. Every count in those is checked against the bytes that are
// there, and against the values it announces, before anything is taken from it.
// Source: Roaring bitmap format specification, "Standard 32-bit Roaring
// Bitmap", "Extension for 64-bit implementations".

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace base::puffin {

/// The values of a whole 64-bit bitmap, ascending.
/// Errors: kCorrupt  not a bitmap, bytes left over, or a value of 2^63 and
///         more; kTooLarge  over `limit` values.
[[nodiscard]] Result<std::vector<std::int64_t>> read_roaring64(std::string_view bytes,
                                                               std::size_t limit);

/// The bitmap of `values`: not negative, ascending, each once. Each container
/// is an array, a bit set or runs, whichever is smallest, as Iceberg's Java
/// library writes them.
[[nodiscard]] std::string write_roaring64(std::span<const std::int64_t> values);

}  // namespace base::puffin
