#pragma once

// A file that somebody else has packed: a few bytes of it may stand for a
// thousand times as many, so what it may become is bounded before it is unpacked.
// Source: RFC 1952.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace base::gzip {

/// Whether `data` begins as a gzip file does.
[[nodiscard]] bool is_gzip(std::string_view data);

/// What `data`, one member or several, holds. Blocks the thread for some
/// milliseconds for each megabyte.
/// Errors: kCorrupt  no gzip, cut short, a wrong checksum, or bytes behind it;
///         kTooLarge  more than `limit` bytes.
[[nodiscard]] Result<std::string> gunzip(std::string_view data, std::size_t limit);

}  // namespace base::gzip
