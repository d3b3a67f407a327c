#include "lakeproxy/ducklake/table/sort_text.h"

#include <algorithm>

namespace lake::ducklake {
namespace {

char in_lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Of a name without quotes.
bool is_of_name(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

std::optional<std::string> identifier_in(std::string_view expression) {
  if (expression.size() < 2 || !expression.starts_with('"')) return std::string(expression);
  std::string name;
  for (std::size_t i = 1; i < expression.size(); ++i) {
    if (expression[i] != '"') {
      name.push_back(expression[i]);
    } else if (i + 1 < expression.size() && expression[i + 1] == '"') {
      name.push_back(expression[++i]);
    } else {
      return i + 1 == expression.size() ? std::optional(name) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::string identifier_of(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text.append(c == '"' ? 2 : 1, c);
  return text + '"';
}

bool is_same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, in_lower_case, in_lower_case);
}

bool may_name(std::string_view expression, std::string_view name) {
  // A quote in the name stands twice in the text.
  const std::string quoted = identifier_of(name);
  const std::string_view inner = std::string_view(quoted).substr(1, quoted.size() - 2);
  for (auto rest = expression.begin(); rest != expression.end(); ++rest) {
    auto found = std::ranges::search(rest, expression.end(), inner.begin(), inner.end(), {},
                                     in_lower_case, in_lower_case);
    if (found.empty()) return false;
    const bool begins = found.begin() == expression.begin() || !is_of_name(*(found.begin() - 1));
    const bool ends = found.end() == expression.end() || !is_of_name(*found.end());
    if (begins && ends) return true;
    rest = found.begin();
  }
  return false;
}

}  // namespace lake::ducklake
