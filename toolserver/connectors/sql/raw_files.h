#pragma once

// Where queries may name files, they name them relative to data_dir, which
// callers do not know and the engine does not apply. So the names are made
// whole in the parsed tree, and the engine writes the query anew from it.

#include <optional>
#include <string>
#include <string_view>

#include "base/json/json.h"

namespace tool::connectors {

/// Why a call of a reader (is_file_reader) with these arguments, as they stand
/// in the tree, is not allowed; nothing when it is. What it reads is known only
/// when it is written out: one constant name of a DataFile, and options that
/// name no further files.
[[nodiscard]] std::optional<std::string> reader_refusal(std::string_view name,
                                                        const base::json::Array& arguments);

/// Puts `data_dir` before the file names in `tree`, which the screen allowed.
void anchor_files(base::json::Value& tree, const std::string& data_dir);

}  // namespace tool::connectors
