#pragma once

// Two names that a person, or a model that reads tokens, takes for one are a
// way to be called in another's place: "files" and "fi1es", "git_log" and
// "git-log". Ids are lower case and ASCII already; what is left is folded here.

#include <string>
#include <string_view>

namespace tool {

/// Equal for names that look alike: 0 and o, 1, i and l, rn and m, vv and w,
/// '-' and '_' are the same. `name` is one part of a ToolId.
/// Source: the idea of Unicode Technical Standard 39, section 4, on the
/// characters that ids have.
[[nodiscard]] std::string look_of(std::string_view name);

}  // namespace tool
