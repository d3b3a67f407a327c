#include "lakeproxy/mapping/default_text.h"

#include <fmt/format.h>

#include "base/core/text.h"
#include "lakeproxy/mapping/lake_text.h"

namespace lake::ducklake {
namespace {

using model::TypeKind;

constexpr std::string_view kEscape = "\\x";
constexpr std::size_t kEscapedSize = 4;

bool is_bytes(const model::Type& type) {
  return type.kind() == TypeKind::kBinary || type.kind() == TypeKind::kFixed;
}

std::string escaped(const std::string& bytes) {
  std::string text;
  for (char c : bytes) text += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
  return text;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    if (!text.starts_with(kEscape)) {
      if (text.front() < ' ' || text.front() > '~' || text.front() == '\\') return std::nullopt;
      bytes.push_back(text.front());
      text.remove_prefix(1);
      continue;
    }
    auto byte = base::from_hex(text.substr(kEscape.size(), 2));
    if (text.size() < kEscapedSize || !byte) return std::nullopt;
    bytes += *byte;
    text.remove_prefix(kEscapedSize);
  }
  return bytes;
}

// "12:00:00+05:30", a time with a zone, in UTC.
std::optional<model::Literal> parse_time_in_utc(const model::Type& type, std::string_view text) {
  constexpr std::int64_t kMicrosPerSecond = 1'000'000;
  constexpr std::int64_t kMicrosPerDay = 86'400 * kMicrosPerSecond;
  const std::size_t sign = text.find_first_of("+-");
  auto time = model::parse_lake_text(type, text.substr(0, sign));
  if (!time || sign == std::string_view::npos) return time;
  std::string offset(text.substr(sign + 1));
  while (offset.size() < std::string_view("00:00:00").size()) offset += ":00";
  auto shift = model::parse_lake_text(type, offset);
  if (!shift) return std::nullopt;
  const std::int64_t ahead = std::get<std::int64_t>(*shift) * (text[sign] == '-' ? -1 : 1);
  const std::int64_t micros = std::get<std::int64_t>(*time) - ahead + kMicrosPerDay;
  return model::Literal(micros % kMicrosPerDay);
}

// What DuckDB writes of a constant that it has no literal for: CAST('2024-01-01' AS "DATE").
// Nothing for any other text, and for the constant of another type.
std::optional<std::string_view> constant_in_cast(const model::Type& type, std::string_view text) {
  std::string_view name;
  switch (type.kind()) {
    case TypeKind::kBoolean: name = "BOOLEAN"; break;
    case TypeKind::kDate: name = "DATE"; break;
    case TypeKind::kTime: name = "TIME"; break;
    case TypeKind::kTimestamp: name = "TIMESTAMP"; break;
    case TypeKind::kTimestamptz: name = "TIMESTAMP WITH TIME ZONE"; break;
    default: return std::nullopt;
  }
  constexpr std::string_view kCast = "CAST('";
  if (!text.starts_with(kCast)) return std::nullopt;
  text.remove_prefix(kCast.size());
  const std::size_t end = text.find('\'');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view behind = text.substr(end);
  if (behind != fmt::format("' AS {})", name) && behind != fmt::format("' AS \"{}\")", name)) {
    return std::nullopt;
  }
  return text.substr(0, end);
}

// "1.5" for two digits behind the point.
std::optional<model::Literal> parse_decimal(const model::Type& type, std::string_view text) {
  if (text.find_first_of("0123456789") == std::string_view::npos) return std::nullopt;
  std::string padded(text);
  const std::size_t point = padded.find('.');
  const std::size_t digits = point == std::string::npos ? 0 : padded.size() - point - 1;
  const auto scale = static_cast<std::size_t>(type.scale());
  if (digits < scale) padded.append(point == std::string::npos ? "." : "");
  if (digits < scale) padded.append(scale - digits, '0');
  return model::parse_lake_text(type, padded);
}

}  // namespace

std::optional<model::Literal> parse_default(const model::Type& type, std::string_view text) {
  if (text == kNoDefault) return std::nullopt;
  if (auto constant = constant_in_cast(type, text)) {
    text = *constant;
    if (type.kind() == TypeKind::kBoolean) text = text == "t" ? "true" : text == "f" ? "false" : "";
  }
  if (type.kind() == TypeKind::kDecimal) return parse_decimal(type, text);
  if (type.kind() == TypeKind::kTime) return parse_time_in_utc(type, text);
  if (!is_bytes(type)) return model::parse_lake_text(type, text);
  auto bytes = unescaped(text);
  if (!bytes) return std::nullopt;
  if (type.kind() == TypeKind::kFixed && bytes->size() != static_cast<std::size_t>(type.length())) {
    return std::nullopt;
  }
  return model::Bytes{std::move(*bytes)};
}

base::Result<std::string> default_text(const model::Field& field, const model::Literal& value) {
  std::string text = is_bytes(field.type) ? escaped(std::get<model::Bytes>(value).value)
                                          : model::to_lake_text(field.type, value);
  if (text != kNoDefault) return text;
  return base::fail(base::ErrorKind::kUnsupported,
                    fmt::format("column {}: the lake takes the default NULL for none", field.name));
}

}  // namespace lake::ducklake
