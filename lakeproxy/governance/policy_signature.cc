#include "lakeproxy/governance/policy_signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/core/text.h"

namespace lake::governance {
namespace {

constexpr std::size_t kMostBytes = 4096;
constexpr std::size_t kMostArguments = 32;
constexpr std::size_t kMostNameBytes = 255;
constexpr std::string_view kSpace = " \t\r\n";

base::Error broken(std::string_view rule) {
  return base::fail(base::ErrorKind::kInvalid, fmt::format("signature: {}", rule));
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Where the quoted text that begins at `at` ends, behind its last quote.
std::optional<std::size_t> end_of_quoted(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (++at; at < text.size(); ++at) {
    if (text[at] != quote) continue;
    if (at + 1 == text.size() || text[at + 1] != quote) return at + 1;
    ++at;
  }
  return std::nullopt;
}

// Cuts at commas that stand in no brackets and no quotes.
std::optional<std::vector<std::string_view>> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  std::string open;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      auto end = end_of_quoted(text, at);
      if (!end) return std::nullopt;
      at = *end;
      continue;
    }
    if (c == '(' || c == '[') open += c;
    if (c == ')' || c == ']') {
      if (open.empty() || open.back() != (c == ')' ? '(' : '[')) return std::nullopt;
      open.pop_back();
    }
    if (c == ',' && open.empty()) {
      parts.push_back(text.substr(begin, at - begin));
      begin = at + 1;
    }
    ++at;
  }
  if (!open.empty()) return std::nullopt;
  parts.push_back(text.substr(begin));
  return parts;
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

bool is_letter(char c) { return (lower(c) >= 'a' && lower(c) <= 'z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes the name off the front.
std::optional<std::string> take_name(std::string_view& text) {
  if (text.starts_with('"')) {
    auto end = end_of_quoted(text, 0);
    if (!end) return std::nullopt;
    std::string name;
    for (std::size_t at = 1; at + 1 < *end; ++at) {
      name += text[at];
      if (text[at] == '"') ++at;  // It stands twice.
    }
    text.remove_prefix(*end);
    return name;
  }
  std::size_t end = 0;
  while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]))) ++end;
  if (end == 0 || is_digit(text.front())) return std::nullopt;
  std::string name(text.substr(0, end));
  text.remove_prefix(end);
  return name;
}

base::Result<Argument> argument_of(std::string_view part) {
  part = trimmed(part);
  auto name = take_name(part);
  if (!name || name->empty() || name->size() > kMostNameBytes || has_control(*name)) {
    return broken("each argument must be a name and a type, as in (v VARCHAR)");
  }
  const std::string_view type = trimmed(part);
  if (type.empty() || !kSpace.contains(part.front())) {
    return broken(fmt::format("the argument {} has no type", *name));
  }
  return Argument{std::move(*name), std::string(type)};
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

base::Result<std::vector<Argument>> parse_signature(std::string_view text) {
  if (text.size() > kMostBytes) return broken("must be at most 4096 bytes");
  if (!base::is_utf8(text) || text.contains('\0')) return broken("must be UTF-8 without zeros");
  text = trimmed(text);
  if (!text.starts_with('(') || !text.ends_with(')') || text.size() < 2) {
    return broken("must be a list in parentheses, as in (v VARCHAR)");
  }
  const auto parts = parts_of(text.substr(1, text.size() - 2));
  if (!parts) return broken("brackets or quotes do not match");
  if (parts->size() > kMostArguments) return broken("must have at most 32 arguments");
  std::vector<Argument> arguments;
  for (std::string_view part : *parts) {
    ASSIGN_OR_RETURN(Argument argument, argument_of(part));
    auto has_name = [&](const Argument& other) { return same_name(other.name, argument.name); };
    if (std::ranges::any_of(arguments, has_name)) {
      return broken(fmt::format("the argument {} comes twice", argument.name));
    }
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

}  // namespace lake::governance
