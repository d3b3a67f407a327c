#pragma once

// What one client of a load sends: its requests, made before the clock runs, so
// that a load measures the server and not the making of the load.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/http/message.h"

namespace bench {

struct ScriptedRequest {
  base::http::Method method = base::http::Method::kGet;
  std::string target;  ///< Path and query, encoded.
  std::string body;
};

using Script = std::vector<ScriptedRequest>;

/// One script for each file of `folder`, in the order of their names. A line is
/// a request: METHOD TARGET, and after one more blank the body, or @ and the path
/// of the file that it is in.
/// Errors: kInvalid  no files, one that cannot be read, an unknown method.
[[nodiscard]] base::Result<std::vector<Script>> read_scripts(const std::string& folder);

}  // namespace bench
