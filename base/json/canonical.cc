#include "base/json/canonical.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <charconv>
#include <cmath>
#include <iterator>

#include "base/core/text.h"

namespace base::json {
namespace {

constexpr std::int64_t kMaxSafe = (std::int64_t{1} << 53) - 1;

Status append_canonical(std::string& out, const Value& value);

Error unsafe_integer() {
  return fail(ErrorKind::kInvalid, "canonical JSON: an integer beyond 2^53-1");
}

Status append_text(std::string& out, boost::json::string_view text) {
  std::string_view view(text.data(), text.size());
  if (!is_utf8(view)) return fail(ErrorKind::kInvalid, "canonical JSON: not well-formed UTF-8");
  append_quoted(out, view);
  return {};
}

// Shortest digits that read back as the same double, and the place of the
// decimal point: 0.digits times ten to the power of `point`.
struct Digits {
  std::string text;
  int point = 0;
};

Digits shortest_digits(double magnitude) {
  char buffer[32];
  auto end =
      std::to_chars(buffer, buffer + sizeof buffer, magnitude, std::chars_format::scientific).ptr;
  std::string_view form(buffer, static_cast<std::size_t>(end - buffer));
  std::size_t e = form.find('e');
  Digits digits;
  for (char c : form.substr(0, e)) {
    if (c != '.') digits.text += c;
  }
  int exponent = 0;
  std::string_view power = form.substr(e + 1);
  if (power.starts_with('+')) power.remove_prefix(1);
  std::from_chars(power.data(), power.data() + power.size(), exponent);
  digits.point = exponent + 1;
  return digits;
}

// Source: ECMA-262, Number::toString, steps 6 to 12, for radix ten; RFC 8785,
// section 3.2.2.3.
Status append_double(std::string& out, double value) {
  if (!std::isfinite(value)) {
    return fail(ErrorKind::kInvalid, "canonical JSON: a number that is not finite");
  }
  if (value == 0) {
    out += '0';
    return {};
  }
  if (value < 0) out += '-';
  auto [digits, point] = shortest_digits(std::abs(value));
  int count = static_cast<int>(digits.size());
  if (count <= point && point <= 21) {
    out += digits;
    out.append(static_cast<std::size_t>(point - count), '0');
  } else if (0 < point && point <= 21) {
    out.append(digits, 0, static_cast<std::size_t>(point));
    out += '.';
    out.append(digits, static_cast<std::size_t>(point));
  } else if (-6 < point && point <= 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-point), '0');
    out += digits;
  } else {
    out += digits[0];
    if (count > 1) {
      out += '.';
      out.append(digits, 1);
    }
    fmt::format_to(std::back_inserter(out), "e{:+}", point - 1);
  }
  return {};
}

Status append_array(std::string& out, const Array& array) {
  out += '[';
  bool first = true;
  for (const Value& element : array) {
    if (!first) out += ',';
    first = false;
    RETURN_IF_ERROR(append_canonical(out, element));
  }
  out += ']';
  return {};
}

// UTF-8 sorts like UTF-16 but for U+E000 to U+FFFF, which come after the
// surrogates that UTF-16 writes larger characters with. Their first bytes, EE
// and EF, are told apart from all others, so ranking these two last is enough.
bool utf16_less(boost::json::string_view a, boost::json::string_view b) {
  auto rank = [](char c) {
    auto byte = static_cast<unsigned char>(c);
    return byte == 0xEE || byte == 0xEF ? byte + 0x10 : int{byte};
  };
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [&](char x, char y) { return rank(x) < rank(y); });
}

Status append_object(std::string& out, const Object& object) {
  boost::container::small_vector<const boost::json::key_value_pair*, 16> members;
  members.reserve(object.size());
  for (const auto& member : object) members.push_back(&member);
  std::ranges::sort(members,
                    [](const auto* a, const auto* b) { return utf16_less(a->key(), b->key()); });
  out += '{';
  bool first = true;
  for (const auto* member : members) {
    if (!first) out += ',';
    first = false;
    RETURN_IF_ERROR(append_text(out, member->key()));
    out += ':';
    RETURN_IF_ERROR(append_canonical(out, member->value()));
  }
  out += '}';
  return {};
}

Status append_canonical(std::string& out, const Value& value) {
  switch (value.kind()) {
    case boost::json::kind::null: out += "null"; return {};
    case boost::json::kind::bool_: out += value.get_bool() ? "true" : "false"; return {};
    case boost::json::kind::int64: {
      std::int64_t number = value.get_int64();
      if (number > kMaxSafe || number < -kMaxSafe) return unsafe_integer();
      fmt::format_to(std::back_inserter(out), "{}", number);
      return {};
    }
    case boost::json::kind::uint64: {
      std::uint64_t number = value.get_uint64();
      if (number > static_cast<std::uint64_t>(kMaxSafe)) return unsafe_integer();
      fmt::format_to(std::back_inserter(out), "{}", number);
      return {};
    }
    case boost::json::kind::double_: return append_double(out, value.get_double());
    case boost::json::kind::string: return append_text(out, value.get_string());
    case boost::json::kind::array: return append_array(out, value.get_array());
    case boost::json::kind::object: return append_object(out, value.get_object());
  }
  std::abort();
}

}  // namespace

Result<std::string> canonical(const Value& value) {
  std::string out;
  RETURN_IF_ERROR(append_canonical(out, value));
  return out;
}

Result<std::string> canonical(const Object& object) {
  std::string out;
  RETURN_IF_ERROR(append_object(out, object));
  return out;
}

}  // namespace base::json
