#include "lakeproxy/model/catalog_names.h"

#include <algorithm>

namespace lake::model {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alphanumeric(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_name_character(char c) { return is_alphanumeric(c) || c == '_' || c == '-'; }

bool is_segment(std::string_view segment) {
  return !segment.empty() && segment != "." && segment != ".." &&
         std::ranges::all_of(segment,
                             [](char c) { return is_name_character(c) || c == '.' || c == '='; });
}

}  // namespace

std::string_view identifier_rule(std::string_view text) {
  bool good = !text.empty() && text.size() <= 63 && !is_digit(text[0]) && text[0] != '-' &&
              std::ranges::all_of(text, is_name_character);
  return good ? "" : "must be 1 to 63 letters, digits, '_' or '-', beginning with a letter or '_'";
}

std::string_view prefix_rule(std::string_view text) {
  constexpr std::string_view kBroken =
      "must be at most 512 bytes of segments of letters, digits, '_', '-', '.' or '=', each "
      "followed by '/', none '.' or '..'";
  if (text.empty() || text.size() > 512) return kBroken;
  while (!text.empty()) {
    auto slash = text.find('/');
    if (slash == std::string_view::npos || !is_segment(text.substr(0, slash))) return kBroken;
    text.remove_prefix(slash + 1);
  }
  return "";
}

}  // namespace lake::model
