#include "base/json/pointer.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace base::json {
namespace {

std::optional<std::string> unescaped(std::string_view token) {
  std::string out;
  for (std::size_t at = 0; at < token.size(); ++at) {
    if (token[at] != '~') {
      out += token[at];
      continue;
    }
    char escaped = ++at < token.size() ? token[at] : '\0';
    if (escaped != '0' && escaped != '1') return std::nullopt;
    out += escaped == '0' ? '~' : '/';
  }
  return out;
}

const Value* child_of(const Value& value, std::string_view token) {
  if (const auto* object = value.if_object()) return object->if_contains(token);
  const auto* array = value.if_array();
  auto index = array != nullptr ? element_of(token) : std::nullopt;
  return index && *index < array->size() ? &(*array)[*index] : nullptr;
}

}  // namespace

std::optional<std::vector<std::string>> pointer_tokens(std::string_view pointer) {
  std::vector<std::string> tokens;
  while (!pointer.empty()) {
    if (pointer.front() != '/') return std::nullopt;
    pointer.remove_prefix(1);
    std::size_t end = std::min(pointer.find('/'), pointer.size());
    auto token = unescaped(pointer.substr(0, end));
    if (!token) return std::nullopt;
    tokens.push_back(std::move(*token));
    pointer.remove_prefix(end);
  }
  return tokens;
}

bool is_pointer(std::string_view text) { return pointer_tokens(text).has_value(); }

void append_token(std::string& pointer, std::string_view token) {
  pointer += '/';
  for (char c : token) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
}

std::optional<std::size_t> element_of(std::string_view token) {
  std::size_t index = 0;
  const char* last = token.data() + token.size();
  auto [end, error] = std::from_chars(token.data(), last, index);
  if (error != std::errc() || end != last) return std::nullopt;
  if (token.size() > 1 && token.front() == '0') return std::nullopt;
  return index;
}

const Value* find_at(const Value& document, std::string_view pointer) {
  auto tokens = pointer_tokens(pointer);
  const Value* at = tokens ? &document : nullptr;
  for (std::size_t i = 0; at != nullptr && i < tokens->size(); ++i)
    at = child_of(*at, (*tokens)[i]);
  return at;
}

Value* find_at(Value& document, std::string_view pointer) {
  return const_cast<Value*>(
      find_at(std::as_const(document), pointer));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

}  // namespace base::json
