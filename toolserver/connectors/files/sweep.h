#pragma once

// A write that was cut off leaves a file under a reserved name. Nobody sees
// it, and the next start removes it.

#include "toolserver/connectors/files/file_store.h"

namespace tool::files {

/// Walks all below the root: counts files and bytes, and removes left-overs of
/// writes that no living process holds when `writing` is allowed.
/// Errors: kTooLarge  over 2 million entries; else as system_error().
[[nodiscard]] base::Status sweep(const PathResolver& resolver, Permission writing,
                                 StartReport& report);

/// The names of a folder's entries without "." and "..", in no order. The
/// descriptor is used up: its position is at the end.
/// Errors: kTooLarge  more than `most`; else as system_error().
[[nodiscard]] base::Result<std::vector<std::string>> names_in(int folder, std::size_t most);

}  // namespace tool::files
