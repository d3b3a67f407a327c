#pragma once

// A log line is built from words of strangers. Names of fields are literals
// that the compiler has checked, values are escaped by their type, and a
// Secret has no way in, so nobody outside can end a line or begin a field.

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "base/core/clock.h"
#include "base/core/secret.h"

namespace base::log {

enum class Level { kDebug, kInfo, kWarning, kError };
enum class Format { kJson, kText };

[[nodiscard]] std::string_view to_string(Level level);

/// A field's name: a literal of [a-z0-9_], none of the line's own names.
/// Anything else does not compile.
class Key {
 public:
  consteval Key(const char* name) : name_(name) {
    if (name_.empty() || name_ == "ts" || name_ == "level" || name_ == "msg" ||
        name_ == "request_id" ||
        name_.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") !=
            std::string_view::npos) {
      throw "bad name of a log field";
    }
  }
  [[nodiscard]] std::string_view name() const { return name_; }

 private:
  std::string_view name_;
};

/// A name and a value; the value is borrowed until the call that logs returns.
/// Of a text that is gone by then the compiler warns (lifetimebound).
class Field {
 public:
  using Value = std::variant<bool, std::int64_t, std::uint64_t, double, std::string_view>;

  template <std::same_as<bool> T>
  Field(Key key, T value) : key_(key), value_(value) {}
  template <std::signed_integral T>
  Field(Key key, T value) : key_(key), value_(std::int64_t{value}) {}
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  Field(Key key, T value) : key_(key), value_(std::uint64_t{value}) {}
  Field(Key key, double value) : key_(key), value_(value) {}
  Field(Key key, std::string_view value [[clang::lifetimebound]]) : key_(key), value_(value) {}
  Field(Key key, const char* value) : key_(key), value_(std::string_view(value)) {}
  Field(Key key, const std::string& value [[clang::lifetimebound]])
      : key_(key), value_(std::string_view(value)) {}
  Field(Key key, const Secret& value) = delete;

  [[nodiscard]] std::string_view key() const { return key_.name(); }
  [[nodiscard]] const Value& value() const { return value_; }

 private:
  Key key_;
  Value value_;
};

using Fields = std::initializer_list<Field>;

struct Record {
  WallTime time;
  Level level = Level::kInfo;
  std::string_view message;
  std::string_view request_id;  ///< Empty outside of requests.
  std::span<const Field> fields;
};

/// The longest text of one value or message, in bytes; more is cut off.
inline constexpr std::size_t kMaxText = 8192;

/// One line with its end, JSON or text. Times are RFC 3339, UTC, microseconds.
/// Control characters, those above ASCII too, appear as escapes only; bytes
/// that are not UTF-8 as U+FFFD.
[[nodiscard]] std::string format_line(Format format, const Record& record);

}  // namespace base::log
