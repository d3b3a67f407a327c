#pragma once

// A text with places for what a call brings: "--lines={lines}". A value is put
// where its place stands and nowhere else: nothing reads the whole again, so no
// value can end an argument, add one, or leave its segment of an address.
// Source: RFC 6570, section 1.2 (the form of a place); ours is its level 1.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/core/secret.h"
#include "base/json/json.h"

namespace tool::definition {

/// A credential of a tool, by the name that its templates use.
struct NamedSecret {
  std::string name;
  base::Secret value;
};

/// A name of an argument or a secret: 1 to 64 of letters, digits, '_' and '-',
/// a letter or '_' first.
[[nodiscard]] bool is_place_name(std::string_view text);

/// What a scalar argument is as text: a string as it stands, a number or a
/// boolean as JSON writes it.
/// Errors: kInvalid  a list, an object or null, or a text that holds a NUL.
[[nodiscard]] base::Result<std::string> scalar_text(const base::json::Value& value);

/// Immutable.
class Template {
 public:
  struct Part {
    enum class Kind : std::uint8_t { kText, kArgument, kSecret } kind;
    std::string text;  ///< The text itself, or the name of what stands there.
  };
  enum class Encoding : std::uint8_t {
    kPlain,
    kUrl,  ///< Values are percent-encoded, '/' too; the template's own text is not.
  };

  /// "{name}" is an argument, "{secret.name}" a secret, "{{" and "}}" a brace.
  /// Errors: kInvalid  the broken rule alone: a brace without its other one, a
  ///         place that is no name; kTooLarge  over 4 KiB or 32 parts.
  [[nodiscard]] static base::Result<Template> parse(std::string_view text);

  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  /// Whether its text begins with what a call brings.
  [[nodiscard]] bool begins_with_argument() const {
    return !parts_.empty() && parts_.front().kind == Part::Kind::kArgument;
  }
  [[nodiscard]] bool holds(Part::Kind kind) const;
  /// Itself, when it has no place in it.
  [[nodiscard]] std::optional<std::string_view> literal() const;

  /// The text with the values in their places. Nothing when an argument that it
  /// names is not among `args`, or null. Every secret that it names is there.
  /// Errors: kInvalid  "args.NAME: rule", as scalar_text().
  [[nodiscard]] base::Result<std::optional<std::string>> render(
      const base::json::Object& args, const std::vector<NamedSecret>& secrets,
      Encoding encoding) const;

 private:
  std::vector<Part> parts_;
};

/// `text` with every secret of 4 or more characters that stands in it replaced
/// by "***".
[[nodiscard]] std::string without_secrets(std::string text,
                                          const std::vector<NamedSecret>& secrets);
/// The same in each text of a tree, names of members included.
[[nodiscard]] base::json::Value without_secrets(const base::json::Value& value,
                                                const std::vector<NamedSecret>& secrets);

}  // namespace tool::definition
