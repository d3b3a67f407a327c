#pragma once

// A tool has one name everywhere: in a capability, a scope, an audit record
// and an MCP listing. Parsed once, so that no later stage meets a name with a
// '*', a space or a homoglyph in it.

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace tool {

/// What an id names. A foreign MCP server offers prompts and resources beside tools:
/// they go through the same pipeline, by scopes of their own.
enum class Offer : std::uint8_t { kTool, kPrompt, kResource };
/// "tool", "prompt", "resource".
[[nodiscard]] std::string_view name(Offer offer);

/// "<namespace>.<name>": each 1 to 64 of a-z, 0-9, '_' and '-', the first a
/// letter. Lower case only, so that no two ids look alike. That of a prompt or a
/// resource has "prompt:" or "resource:" before it, so that it equals no tool's.
class ToolId {
 public:
  /// Of a tool, and of nothing else: what callers write names tools.
  /// Errors: kInvalid  the text breaks the rule.
  [[nodiscard]] static base::Result<ToolId> parse(std::string_view text);
  /// Of any kind. Errors: kInvalid  the text breaks the rule.
  [[nodiscard]] static base::Result<ToolId> parse_any(std::string_view text);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] Offer offer() const { return offer_; }
  /// "<namespace>.<name>", whatever the kind.
  [[nodiscard]] std::string_view plain() const { return std::string_view(text_).substr(begin_); }
  [[nodiscard]] std::string_view space() const {
    return std::string_view(text_).substr(begin_, dot_ - begin_);
  }
  [[nodiscard]] std::string_view name() const { return std::string_view(text_).substr(dot_ + 1); }

  friend bool operator==(const ToolId& a, const ToolId& b) { return a.text_ == b.text_; }
  friend auto operator<=>(const ToolId& a, const ToolId& b) { return a.text_ <=> b.text_; }

 private:
  ToolId(Offer offer, std::string text, std::size_t begin, std::size_t dot)
      : offer_(offer), text_(std::move(text)), begin_(begin), dot_(dot) {}
  Offer offer_;
  std::string text_;
  std::size_t begin_;  // Of the namespace.
  std::size_t dot_;
};

}  // namespace tool
