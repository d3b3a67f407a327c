#include <algorithm>

#include "lakeproxy/iceberg/schema/literal_text.h"

namespace lake::model {

std::string format_decimal(const Decimal& decimal, int scale) {
  const bool negative = decimal.unscaled < 0;
  // The lowest value has no positive counterpart, so the sign goes first.
  auto rest = static_cast<unsigned __int128>(decimal.unscaled);
  if (negative) rest = -rest;
  std::string reversed;
  for (int place = 0; rest != 0 || place <= scale; ++place) {
    if (place == scale && scale > 0) reversed.push_back('.');
    reversed.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  }
  if (negative) reversed.push_back('-');
  return {reversed.rbegin(), reversed.rend()};
}

std::optional<Decimal> parse_decimal(std::string_view text, int precision, int scale) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const auto point = text.find('.');
  const auto whole = text.substr(0, point);
  const auto fraction =
      point == std::string_view::npos ? std::string_view() : text.substr(point + 1);
  const bool has_point = point != std::string_view::npos;
  if (whole.empty() || has_point != (scale > 0) ||
      fraction.size() != static_cast<std::size_t>(scale)) {
    return std::nullopt;
  }
  __int128 unscaled = 0;
  int significant = 0;
  for (const auto part : {whole, fraction}) {
    for (const char c : part) {
      if (c < '0' || c > '9') return std::nullopt;
      if (unscaled != 0 || c != '0') ++significant;
      // 38 digits fit 128 bits with room to spare.
      if (significant > precision) return std::nullopt;
      unscaled = unscaled * 10 + (c - '0');
    }
  }
  return Decimal{negative ? -unscaled : unscaled};
}

}  // namespace lake::model
