#pragma once

// Where queries may name files, they name them relative to data_dir, which
// callers do not know and the engine does not apply. So the names are made
// whole in the parsed tree, and the engine writes the query anew from it.

#include <string>

#include "base/json/json.h"

namespace tool::connectors {

/// Puts `data_dir` before the file names in `tree`, which the screen allowed.
void anchor_files(base::json::Value& tree, const std::string& data_dir);

}  // namespace tool::connectors
