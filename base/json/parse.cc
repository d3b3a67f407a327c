#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "base/core/text.h"
#include "base/json/json.h"

namespace base::json {
namespace {

using boost::json::error;
using boost::json::error_code;
using boost::json::string_view;

// The part of a foreign key that a message repeats.
constexpr std::size_t kShownKey = 64;

// The nearest double of a JSON number, or nothing above the largest one.
// `estimate` is only asked on which side of the range the number lies.
std::optional<double> nearest_double(std::string_view text, double estimate) {
  double value = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec == std::errc::result_out_of_range) {
    if (std::abs(estimate) >= 1) return std::nullopt;
    return text.starts_with('-') ? -0.0 : 0.0;
  }
  if (ec != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

// Builds the tree. Finished values wait in values_ until their array or object
// ends; keys wait as bytes in one string. An object is then filled in one go
// and its own hash index finds a second equal key.
class TreeBuilder {
 public:
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);

  explicit TreeBuilder(Limits limits) : limits_(limits) {}

  std::optional<Error>& failure() { return failure_; }
  Value release() { return std::move(values_.back()); }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }

  bool on_array_begin(error_code& ec) { return open(ec); }
  bool on_object_begin(error_code& ec) { return open(ec); }

  bool on_array_end(std::size_t n, error_code&) {
    Array array;
    array.reserve(n);
    auto first = values_.end() - static_cast<std::ptrdiff_t>(n);
    for (auto it = first; it != values_.end(); ++it) array.emplace_back(std::move(*it));
    close(n, std::move(array));
    return true;
  }

  bool on_object_end(std::size_t n, error_code& ec) {
    Object object;
    object.reserve(n);
    auto value = values_.end() - static_cast<std::ptrdiff_t>(n);
    std::size_t first_key = key_starts_.size() - n;
    for (std::size_t i = first_key; i < key_starts_.size(); ++i, ++value) {
      auto key = key_at(i);
      if (!object.emplace(key, std::move(*value)).second) return refuse_duplicate(key, ec);
    }
    if (n > 0) {
      key_bytes_.resize(key_starts_[first_key]);
      key_starts_.resize(first_key);
    }
    close(n, std::move(object));
    return true;
  }

  bool on_key_part(string_view part, std::size_t, error_code&) {
    if (!in_key_) key_starts_.push_back(key_bytes_.size());
    in_key_ = true;
    key_bytes_.append(part.data(), part.size());
    return true;
  }
  bool on_key(string_view part, std::size_t n, error_code& ec) {
    on_key_part(part, n, ec);
    in_key_ = false;
    return true;
  }

  bool on_string_part(string_view part, std::size_t, error_code&) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool on_string(string_view part, std::size_t, error_code& ec) {
    if (text_.empty()) return scalar(boost::json::string(part), ec);
    text_.append(part.data(), part.size());
    boost::json::string whole(text_);
    text_.clear();
    return scalar(std::move(whole), ec);
  }

  bool on_number_part(string_view part, error_code&) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool on_int64(std::int64_t value, string_view, error_code& ec) { return number(value, ec); }
  bool on_uint64(std::uint64_t value, string_view, error_code& ec) { return number(value, ec); }
  bool on_double(double estimate, string_view part, error_code& ec) {
    text_.append(part.data(), part.size());
    auto value = nearest_double(text_, estimate);
    if (!value) return refuse(ErrorKind::kInvalid, "a number is out of range", ec);
    return number(*value, ec);
  }
  bool on_bool(bool value, error_code& ec) { return scalar(value, ec); }
  bool on_null(error_code& ec) { return scalar(nullptr, ec); }

 private:
  [[nodiscard]] string_view key_at(std::size_t i) const {
    std::size_t end = i + 1 < key_starts_.size() ? key_starts_[i + 1] : key_bytes_.size();
    return string_view(key_bytes_).substr(key_starts_[i], end - key_starts_[i]);
  }

  bool refuse(ErrorKind kind, std::string rule, error_code& ec) {
    failure_ = fail(kind, std::move(rule));
    ec = error::exception;
    return false;
  }

  bool refuse_duplicate(string_view key, error_code& ec) {
    std::string rule = "duplicate key ";
    append_quoted(rule, std::string_view(key.data(), std::min(key.size(), kShownKey)));
    return refuse(ErrorKind::kInvalid, std::move(rule), ec);
  }

  bool count(error_code& ec) {
    if (++count_ <= limits_.values) return true;
    return refuse(ErrorKind::kTooLarge, "more than " + std::to_string(limits_.values) + " values",
                  ec);
  }

  bool open(error_code& ec) {
    if (++depth_ <= limits_.depth) return count(ec);
    return refuse(ErrorKind::kTooLarge,
                  "nested deeper than " + std::to_string(limits_.depth) + " levels", ec);
  }

  template <class T>
  void close(std::size_t n, T&& container) {
    --depth_;
    values_.resize(values_.size() - n);
    values_.emplace_back(std::forward<T>(container));
  }

  template <class T>
  bool scalar(T&& value, error_code& ec) {
    values_.emplace_back(std::forward<T>(value));
    return count(ec);
  }

  template <class T>
  bool number(T value, error_code& ec) {
    text_.clear();
    return scalar(value, ec);
  }

  Limits limits_;
  std::size_t count_ = 0;
  std::size_t depth_ = 0;
  std::vector<Value> values_;
  std::string key_bytes_;
  std::vector<std::size_t> key_starts_;
  bool in_key_ = false;
  std::string text_;  // A string or number that comes in parts.
  std::optional<Error> failure_;
};

Error at_byte(ErrorKind kind, std::string_view rule, std::size_t offset) {
  return fail(kind, "JSON, byte " + std::to_string(offset) + ": " + std::string(rule));
}

std::string_view rule_of(const error_code& ec) {
  if (ec == error::incomplete) return "the text ends too early";
  if (ec == error::exponent_overflow) return "a number is out of range";
  if (ec == error::illegal_leading_surrogate || ec == error::illegal_trailing_surrogate ||
      ec == error::expected_utf16_escape) {
    return "a surrogate escape without its other half";
  }
  if (ec == error::expected_hex_digit) return "a bad escape";
  return "not JSON";
}

}  // namespace

Result<Value> parse(std::string_view text, Limits limits) {
  if (text.size() > limits.bytes) {
    return fail(ErrorKind::kTooLarge,
                "JSON: more than " + std::to_string(limits.bytes) + " bytes of text");
  }
  // Checked here as a whole: the parser's own check is one state machine more
  // to trust, and its errors do not tell bad UTF-8 from bad syntax.
  if (!is_utf8(text)) return fail(ErrorKind::kInvalid, "JSON: not well-formed UTF-8");
  boost::json::parse_options options;
  options.max_depth = limits.depth + 1;  // The builder refuses first, with the limit's name.
  boost::json::basic_parser<TreeBuilder> parser(options, limits);
  error_code ec;
  std::size_t used = parser.write_some(false, text.data(), text.size(), ec);
  if (auto& failure = parser.handler().failure()) {
    return at_byte(failure->kind(), failure->message(), used);
  }
  if (ec) return at_byte(ErrorKind::kInvalid, rule_of(ec), used);
  if (used < text.size()) return at_byte(ErrorKind::kInvalid, "data after the value", used);
  return parser.handler().release();
}

}  // namespace base::json
