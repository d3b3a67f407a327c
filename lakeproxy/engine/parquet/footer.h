#pragma once

// The footer of a Parquet file says what the rest holds; it is brought alone,
// and the file before it stays a hole.

#include <cstdint>
#include <string>

#include "lakeproxy/engine/files/transfer.h"

namespace lake::exporter {

/// Brings the end of a file of `size` > 0 bytes, its whole footer with it, to the
/// same place of the file at `path`; where what is there begins.
/// What is read is taken off `budget` first, where one is given; it outlives the task.
/// Errors: those of get_exactly(), footer_begin() and ByteBudget; kInternal  scratch is full.
[[nodiscard]] base::Task<base::Result<std::uint64_t>> bring_footer(
    Means means, base::RequestContext context, storage::ObjectKey key, std::string path,
    std::uint64_t size, ByteBudget* budget = nullptr);

}  // namespace lake::exporter
