#include "lakeproxy/mapping/path_values.h"

#include <charconv>

namespace lake::model {
namespace {

// As DuckDB does it: an escape that is none stays as it is.
std::string without_escapes(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* begin = text.data() + i + 1;
    const bool escape = text[i] == '%' && i + 2 < text.size() &&
                        std::from_chars(begin, begin + 2, byte, 16).ptr == begin + 2;
    result += escape ? static_cast<char>(byte) : text[i];
    if (escape) i += 2;
  }
  return result;
}

}  // namespace

std::vector<PathValue> values_in_path(std::string_view path) {
  std::vector<PathValue> values;
  for (std::size_t begin = 0;;) {
    const std::size_t end = path.find('/', begin);
    if (end == std::string_view::npos) return values;
    const std::string_view folder = path.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equal = folder.find('=');
    const bool is_one = equal != std::string_view::npos && equal > 0 &&
                        folder.find('=', equal + 1) == std::string_view::npos &&
                        folder.find_first_of("?\n") == std::string_view::npos;
    if (!is_one) continue;
    values.push_back(
        {std::string(folder.substr(0, equal)), without_escapes(folder.substr(equal + 1))});
  }
}

}  // namespace lake::model
