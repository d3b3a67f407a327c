#pragma once

// Where the files of the repository are that a test reads. Not from __FILE__:
// objects come out of a compiler cache that all clones share.

#include <filesystem>

namespace base::testing {

/// The folder of the clone that the running test was built in. Aborts when the
/// test's program lies in none.
[[nodiscard]] std::filesystem::path repository();

}  // namespace base::testing
