#pragma once

// Files under tests/golden hold bytes that must not change by accident. A test
// compares with them; with UPDATE_GOLDEN=1 in the environment it writes them
// instead, and the difference shows in the review.

#include <string>
#include <string_view>

namespace base::testing {

/// The bytes of tests/golden/`name`. Aborts when there is no such file.
[[nodiscard]] std::string read_golden(std::string_view name);

/// Whether the file holds exactly `bytes`; writes it first when updating.
[[nodiscard]] bool matches_golden(std::string_view name, std::string_view bytes);

}  // namespace base::testing
