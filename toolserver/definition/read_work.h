#pragma once

// The parts of a tool's section that hang on its kind. Of read_definitions.cc.

#include <filesystem>
#include <vector>

#include "toolserver/definition/read_definitions.h"
#include "toolserver/definition/section.h"

namespace tool::definition {

/// The names of the files that were read go to `files`.
[[nodiscard]] std::vector<NamedSecret> read_secrets(Section& tool, const ReadOptions& options,
                                                    std::vector<std::filesystem::path>& files);

/// Fills `definition.work` from its kind. False when there is no such kind.
[[nodiscard]] bool read_work(Section& tool, ToolDefinition& definition, const ReadOptions& options);

}  // namespace tool::definition
