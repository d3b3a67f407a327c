// The text form of primitive types. Names are read in either case and with
// blanks inside the brackets, as Iceberg's own clients do; what is written has
// one form only (Type::to_string).

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/core/text.h"
#include "lakeproxy/iceberg/schema/type.h"

namespace lake::model {
namespace {

using base::ErrorKind;
using base::fail;

/// Longer texts are no type.
constexpr std::size_t kMaxTypeText = 256;
constexpr std::size_t kMostShown = 100;  // Of a text that is no type, in an error.
constexpr int kMaxPrecision = 38;
/// Values travel in memory and in manifests.
constexpr int kMaxFixedLength = 64 * 1024 * 1024;
constexpr std::string_view kDefaultCrs = "OGC:CRS84";

constexpr std::array<std::pair<std::string_view, TypeKind>, 18> kPlain{{
    {"boolean", TypeKind::kBoolean},
    {"int", TypeKind::kInt},
    {"long", TypeKind::kLong},
    {"float", TypeKind::kFloat},
    {"double", TypeKind::kDouble},
    {"date", TypeKind::kDate},
    {"time", TypeKind::kTime},
    {"timestamp", TypeKind::kTimestamp},
    {"timestamptz", TypeKind::kTimestamptz},
    {"string", TypeKind::kString},
    {"uuid", TypeKind::kUuid},
    {"binary", TypeKind::kBinary},
    {"timestamp_ns", TypeKind::kTimestampNs},
    {"timestamptz_ns", TypeKind::kTimestamptzNs},
    {"unknown", TypeKind::kUnknown},
    {"variant", TypeKind::kVariant},
    {"geometry", TypeKind::kGeometry},
    {"geography", TypeKind::kGeography},
}};

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string_view trim(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// A number of at most nine digits without a sign.
std::optional<int> small_number(std::string_view text) {
  text = trim(text);
  if (text.empty() || text.size() > 9 || text.starts_with('-')) return std::nullopt;
  auto number = base::parse_int64(text);
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

base::Error not_a_type(std::string_view text) {
  return fail(ErrorKind::kInvalid,
              fmt::format("not a primitive type: '{}'", base::shorten(text, kMostShown)));
}

base::Result<Type> parse_decimal(std::string_view inside, std::string_view text) {
  const auto comma = inside.find(',');
  if (comma == std::string_view::npos) return not_a_type(text);
  const auto precision = small_number(inside.substr(0, comma));
  const auto scale = small_number(inside.substr(comma + 1));
  if (!precision || !scale) return not_a_type(text);
  if (*precision < 1 || *precision > kMaxPrecision) {
    return fail(ErrorKind::kInvalid, fmt::format("{}: precision must be 1 to 38", text));
  }
  if (*scale > *precision) {
    return fail(ErrorKind::kInvalid, fmt::format("{}: scale must not exceed precision", text));
  }
  return Type::decimal(*precision, *scale);
}

base::Result<Type> parse_fixed(std::string_view inside, std::string_view text) {
  const auto length = small_number(inside);
  if (!length) return not_a_type(text);
  if (*length < 1 || *length > kMaxFixedLength) {
    return fail(ErrorKind::kInvalid,
                fmt::format("{}: length must be 1 to {}", text, kMaxFixedLength));
  }
  return Type::fixed(*length);
}

bool is_edge_algorithm(std::string_view text) {
  return text == "spherical" || text == "vincenty" || text == "thomas" || text == "andoyer" ||
         text == "karney";
}

bool is_plain_text(std::string_view text) {
  return base::is_utf8(text) && std::ranges::none_of(text, [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '(' || c == ')' ||
                  c == '\'' || c == '"';
         });
}

/// One widespread client puts the words between quotes.
std::string_view unquote(std::string_view text) {
  text = trim(text);
  const bool quoted = text.size() >= 2 && text.front() == text.back() &&
                      (text.front() == '\'' || text.front() == '"');
  return quoted ? text.substr(1, text.size() - 2) : text;
}

/// "crs" for a geometry, "crs" or "crs, algorithm" for a geography.
base::Result<Type> parse_geo(TypeKind kind, std::string_view inside, std::string_view text) {
  const auto comma = inside.find(',');
  const std::string_view crs = unquote(inside.substr(0, comma));
  if (crs.empty() || !is_plain_text(crs)) return not_a_type(text);
  if (comma == std::string_view::npos) {
    return Type::geo(kind, crs == kDefaultCrs ? std::string() : std::string(crs));
  }
  const std::string algorithm = lower_case(unquote(inside.substr(comma + 1)));
  if (kind != TypeKind::kGeography || !is_edge_algorithm(algorithm)) return not_a_type(text);
  return Type::geo(kind, fmt::format("{}, {}", crs, algorithm));
}

}  // namespace

base::Result<Type> parse_primitive_type(std::string_view text) {
  if (text.size() > kMaxTypeText) return not_a_type(text);
  const auto open = text.find_first_of("([");
  const std::string name = lower_case(text.substr(0, open));
  if (open == std::string_view::npos) {
    for (const auto& [plain, kind] : kPlain) {
      if (plain == name) return Type(kind);
    }
    return not_a_type(text);
  }
  const std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  const bool round = text[open] == '(' && text.ends_with(')');
  const bool square = text[open] == '[' && text.ends_with(']');
  if (round && name == "decimal") return parse_decimal(inside, text);
  if (square && name == "fixed") return parse_fixed(inside, text);
  if (round && name == "geometry") return parse_geo(TypeKind::kGeometry, inside, text);
  if (round && name == "geography") return parse_geo(TypeKind::kGeography, inside, text);
  return not_a_type(text);
}

}  // namespace lake::model
