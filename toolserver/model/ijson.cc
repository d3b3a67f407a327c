#include "toolserver/model/ijson.h"

#include <algorithm>
#include <cmath>

namespace tool {
namespace {

// Past this a double may stand for an integer that the parser has rounded.
constexpr double kFirstUnsafe = 9007199254740992.0;
constexpr std::size_t kMaxIntegerDigits = 16;

enum class Numbers : std::uint8_t { kGood, kBad, kLookAtText };

Numbers check_numbers(const base::json::Value& value);

template <class Range, class Get>
Numbers check_all(const Range& range, Get get) {
  auto worst = Numbers::kGood;
  for (const auto& element : range) {
    Numbers found = check_numbers(get(element));
    if (found == Numbers::kBad) return found;
    if (found == Numbers::kLookAtText) worst = found;
  }
  return worst;
}

// The depth of `value` is bounded by the parser.
Numbers check_numbers(const base::json::Value& value) {
  switch (value.kind()) {
    case boost::json::kind::int64:
      return value.get_int64() > kMaxInteger || value.get_int64() < -kMaxInteger ? Numbers::kBad
                                                                                 : Numbers::kGood;
    case boost::json::kind::uint64: return Numbers::kBad;  // Above int64's range.
    case boost::json::kind::double_:
      return std::abs(value.get_double()) >= kFirstUnsafe ? Numbers::kLookAtText : Numbers::kGood;
    case boost::json::kind::array:
      return check_all(value.get_array(),
                       [](const auto& element) -> const auto& { return element; });
    case boost::json::kind::object:
      return check_all(value.get_object(),
                       [](const auto& member) -> const auto& { return member.value(); });
    default: return Numbers::kGood;
  }
}

// Where the string that begins at `at` ends: past its closing quote.
std::size_t after_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at + 1;
}

// Whether a number without point and exponent is too long to be safe. `text` is
// known to be JSON.
bool has_long_integer(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      at = after_string(text, at);
      continue;
    }
    std::size_t end = std::min(text.find_first_not_of("0123456789+-.eE", at), text.size());
    if (end == at || (text[at] != '-' && (text[at] < '0' || text[at] > '9'))) {
      ++at;
      continue;
    }
    auto number = text.substr(at, end - at);
    std::size_t digits = number.size() - (number[0] == '-' ? 1 : 0);
    if (digits > kMaxIntegerDigits && number.find_first_of(".eE") == std::string_view::npos) {
      return true;
    }
    at = end;
  }
  return false;
}

// Not check_numbers(): a tree of our own may hold a std::size_t, which that one
// refuses before it comes to a double.
bool is_or_holds_large_double(const base::json::Value& value) {
  switch (value.kind()) {
    case boost::json::kind::double_: return std::abs(value.get_double()) >= kFirstUnsafe;
    case boost::json::kind::array:
      return std::ranges::any_of(value.get_array(), is_or_holds_large_double);
    case boost::json::kind::object: return has_large_double(value.get_object());
    default: return false;
  }
}

}  // namespace

bool has_large_double(const base::json::Object& value) {
  return std::ranges::any_of(
      value, [](const auto& member) { return is_or_holds_large_double(member.value()); });
}

Outcome<base::json::Value> parse_ijson(std::string_view text, const MessageLimits& limits) {
  auto value = base::json::parse(
      text, {.bytes = limits.bytes, .depth = limits.depth, .values = limits.values});
  if (!value) return refuse(Code::kParse, value.error().message());
  auto numbers = check_numbers(*value);
  if (numbers == Numbers::kBad || (numbers == Numbers::kLookAtText && has_long_integer(text))) {
    return refuse(Code::kParse, "JSON: an integer beyond 2^53-1");
  }
  return std::move(*value);
}

}  // namespace tool
