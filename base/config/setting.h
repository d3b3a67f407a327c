#pragma once

// A setting that is read as text somewhere deep in the program fails there,
// at night. Here each setting is declared once with its type and range; its
// text becomes a typed value at start or the program refuses to run.

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/core/result.h"
#include "base/core/secret.h"

namespace base::config {

/// Names the rule that `text` breaks ("must not be empty"), or is empty.
using TextRule = std::string_view (*)(std::string_view text);

/// UTF-8 without control characters.
struct TextType {
  TextRule rule = nullptr;
  std::string_view rule_text;  ///< The rule in words, for the documentation.
  std::size_t max_bytes = 4096;
};

/// A whole decimal number, both ends included.
struct IntegerType {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};

/// 1, true, yes, on or 0, false, no, off, in any case of letters.
struct FlagType {};

/// Seconds as a decimal number, both ends included, kept in microseconds.
struct DurationType {
  std::chrono::microseconds min{0};
  std::chrono::microseconds max = std::chrono::hours(24 * 365);
};

/// A count of bytes with an optional unit: KB, MB, GB, TB count in thousands,
/// KiB, MiB, GiB, TiB in 1024s.
struct BytesType {
  std::uint64_t min = 0;
  std::uint64_t max = std::uint64_t{1} << 50;
};

/// One of a list of lower-case words; letters of any case are taken.
struct ChoiceType {
  std::vector<std::string_view> words;
};

/// A URL of one of the schemes: host, optional port and path; nothing that
/// could carry a password (user part, query, fragment). Kept without a '/' at
/// the end. May be left empty when the default is empty.
struct UrlType {
  std::vector<std::string_view> schemes = {"http", "https"};
};

/// Like TextType, and never shown.
struct SecretType {
  TextRule rule = nullptr;
  std::string_view rule_text;
  std::size_t max_bytes = 4096;
};

/// Texts parted by commas, blanks around each left off; an empty text is an
/// empty list. `rule` holds for each item; no item is empty or there twice.
struct ListType {
  TextRule rule = nullptr;
  std::string_view rule_text;
  std::size_t max_items = 64;
};

using SettingType = std::variant<TextType, IntegerType, FlagType, DurationType, BytesType,
                                 ChoiceType, UrlType, SecretType, ListType>;

/// The views are of literals.
struct Setting {
  std::string name;  ///< Without the product's prefix: "PG_HOST".
  SettingType type;
  std::string_view default_text;  ///< As a user would write it.
  std::string_view section;
  std::string_view help;       ///< One sentence.
  std::string_view path = {};  ///< The key in a file of nested sections: "pg.host".
};

/// A setting of a table of nested sections: its name is the path in capitals
/// with '_' for '.'. `path` is a literal.
[[nodiscard]] Setting setting_at(std::string_view path, SettingType type,
                                 std::string_view default_text, std::string_view section,
                                 std::string_view help);

struct Bytes {
  std::uint64_t count = 0;
  friend bool operator==(Bytes, Bytes) = default;
};

/// TextType, ChoiceType and UrlType give a string.
using SettingValue = std::variant<std::string, std::int64_t, bool, std::chrono::microseconds, Bytes,
                                  Secret, std::vector<std::string>>;

/// Errors: kInvalid  the message is the broken rule alone; it never repeats
///         the text, which may be a secret set under a wrong name.
[[nodiscard]] Result<SettingValue> parse_setting(const Setting& setting, std::string_view text);

/// The value as a user may write it; "***" for a secret that is not empty.
[[nodiscard]] std::string to_text(const SettingValue& value);

/// "pg.host" -> "PG_HOST".
[[nodiscard]] std::string name_of_path(std::string_view path);

/// What the type takes, in words: "integer, 1 to 65535".
[[nodiscard]] std::string describe_type(const SettingType& type);

}  // namespace base::config
