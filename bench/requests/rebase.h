#pragma once

// What an Iceberg client does when a catalog refuses its append because main
// has moved on: it loads the table and puts its append on top.

#include <string>
#include <string_view>

#include "base/core/result.h"

namespace bench {

/// `commit`, a CommitTableRequest of one append to main, standing on the table
/// that `loaded`, a LoadTableResult, shows. The manifest list stays: what a real
/// client writes anew here, and the request for that, is not part of the load.
/// Errors: kInvalid  one of them is no such document.
[[nodiscard]] base::Result<std::string> rebase(std::string_view commit, std::string_view loaded);

}  // namespace bench
