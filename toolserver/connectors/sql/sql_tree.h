#pragma once

// What the screen reads of the engine's tree, which is JSON of the engine's own
// making over names of a caller's.

#include <string>
#include <string_view>

#include "base/json/json.h"

namespace tool::connectors {

/// A text member. Absent ones and those of another kind are "": the rules take
/// that for nothing special, and no rule allows a thing for having no name.
[[nodiscard]] inline std::string_view text_at(const base::json::Object& object,
                                              std::string_view key) {
  const auto* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string())
                                                : std::string_view();
}

/// The value of a constant, or null when `expression` is none.
[[nodiscard]] inline const base::json::Value* constant_of(const base::json::Value& expression) {
  const auto* object = expression.if_object();
  if (object == nullptr || text_at(*object, "class") != "CONSTANT") return nullptr;
  const auto* holder = object->if_contains("value");
  const auto* value = holder == nullptr ? nullptr : holder->if_object();
  return value == nullptr ? nullptr : value->if_contains("value");
}

/// A name of a caller's, for a message.
[[nodiscard]] inline std::string shown(std::string_view name) {
  constexpr std::size_t kMost = 64;
  return name.size() <= kMost ? std::string(name) : std::string(name.substr(0, kMost)) + "...";
}

}  // namespace tool::connectors
