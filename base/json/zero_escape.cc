#include "base/json/zero_escape.h"

namespace base::json {

bool has_zero_escape(std::string_view json) {
  constexpr std::string_view kEscape = "u0000";
  for (auto at = json.find(kEscape); at != std::string_view::npos;
       at = json.find(kEscape, at + 1)) {
    std::size_t slashes = 0;
    while (slashes < at && json[at - 1 - slashes] == '\\') ++slashes;
    // An even number of them are backslashes of the text itself.
    if (slashes % 2 == 1) return true;
  }
  return false;
}

}  // namespace base::json
