#pragma once

// A tool has one name everywhere: in a capability, a scope, an audit record
// and an MCP listing. Parsed once, so that no later stage meets a name with a
// '*', a space or a homoglyph in it.

#include <compare>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace tool {

/// "<namespace>.<name>": each 1 to 64 of a-z, 0-9, '_' and '-', the first a
/// letter. Lower case only, so that no two ids look alike.
class ToolId {
 public:
  /// Errors: kInvalid  the text breaks the rule.
  [[nodiscard]] static base::Result<ToolId> parse(std::string_view text);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::string_view space() const { return std::string_view(text_).substr(0, dot_); }
  [[nodiscard]] std::string_view name() const { return std::string_view(text_).substr(dot_ + 1); }

  friend bool operator==(const ToolId& a, const ToolId& b) { return a.text_ == b.text_; }
  friend auto operator<=>(const ToolId& a, const ToolId& b) { return a.text_ <=> b.text_; }

 private:
  ToolId(std::string text, std::size_t dot) : text_(std::move(text)), dot_(dot) {}
  std::string text_;
  std::size_t dot_;
};

}  // namespace tool
