#pragma once

// The service under load and how its clients show who they are. Secrets come
// by the environment, under the names that the settings have, so that no
// command line shows them.

#include <string>

#include "base/core/result.h"
#include "toolserver/client/client_options.h"

namespace bench {

struct Target {
  std::string url;
  std::string mode = "encrypted";  ///< Or "simple".
  std::string ca_file;             ///< For wss.
};

/// Reads SCP_API_KEY, SCP_SECRET_KEY and SCP_KDF_SALT.
/// Errors: kInvalid  not such a mode, or see tool::client::check().
[[nodiscard]] base::Result<tool::client::ClientOptions> client_options(const Target& target);

}  // namespace bench
