#pragma once

// What the file tools say of themselves. A tool that the options do not allow
// is not there.

#include <vector>

#include "base/core/result.h"
#include "toolserver/connectors/files/files_options.h"
#include "toolserver/model/capability.h"

namespace tool::files {

/// read, list and stat; write and delete where allowed.
/// Errors: kInvalid  options.space is not the namespace of a tool's name.
[[nodiscard]] base::Result<std::vector<Capability>> file_capabilities(const FilesOptions& options);

}  // namespace tool::files
