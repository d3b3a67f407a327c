#pragma once

// Two foreign servers may have a resource of one URI, and a caller's URI must reach
// the server that it names and no other. So the URI of a foreign resource is carried
// behind the server's name: "git+file:///srv/a" is file:///srv/a of the bridge git.
// The first '+' ends the name, which has none itself, so the two parts are never
// mistaken for others. '_' of a name is '.' there, since schemes have no '_'.
// Sources: RFC 3986, sections 3 and 3.1; RFC 6570, levels 1 and 2; docs/adr/0162.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace tool::mcp {

inline constexpr std::size_t kUriBytes = 2'048;  ///< Of a server's own URI.
inline constexpr std::size_t kOuterUriBytes = kUriBytes + 65;
inline constexpr std::size_t kTemplateBytes = 1'024;
/// The name, in a server's namespace, of what it lists: `resource:git.listed`.
inline constexpr std::string_view kListedResources = "listed";

/// Whether `text` is a URI with a scheme, of 1 to kUriBytes characters that RFC 3986
/// allows, each '%' before two hexadecimal digits.
[[nodiscard]] bool is_uri(std::string_view text);

/// `uri`, or a template of URIs, as callers see it. `server` is a namespace of a ToolId.
[[nodiscard]] std::string outer_uri(std::string_view server, std::string_view uri);

struct ServerUri {
  std::string server;  ///< As a namespace of a ToolId; there need be no such server.
  std::string uri;     ///< Its own; see is_uri().
};
/// The two parts of what a caller sent. Nothing: it names no server, or what follows
/// is no URI.
[[nodiscard]] std::optional<ServerUri> inner_uri(std::string_view outer);

/// Which URIs a server's template stands for. Immutable.
class UriTemplate {
 public:
  /// `{name}` stands for unreserved characters and escapes, `{+name}` for reserved ones,
  /// too.
  /// Errors: kInvalid  over kTemplateBytes or 16 expressions; an expression of another
  /// kind; what is between them is of no URI; an expression within the scheme.
  [[nodiscard]] static base::Result<UriTemplate> parse(std::string_view text);

  [[nodiscard]] const std::string& text() const { return text_; }
  /// Whether `uri`, for which is_uri() holds, is one of them. A path that goes up or
  /// stays (`.`, `..`, escaped or not), and an escaped '/', '\' or NUL, is none.
  [[nodiscard]] bool matches(std::string_view uri) const;

 private:
  struct Part {
    enum class Kind : std::uint8_t { kLiteral, kSimple, kReserved };
    Kind kind;
    std::string text;  // Of a literal.
  };
  explicit UriTemplate(std::string_view text) : text_(text) {}
  std::string text_;
  std::vector<Part> parts_;
};

}  // namespace tool::mcp
