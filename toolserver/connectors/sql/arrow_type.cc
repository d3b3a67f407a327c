#include "toolserver/connectors/sql/arrow_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace tool::connectors {
namespace {

struct Fixed {
  std::string_view format;
  ArrowTag tag;
  std::int32_t width = 0;
  bool is_signed = false;
  std::int16_t unit = 0;
};

constexpr std::array kFixed{
    Fixed{"n", ArrowTag::kNull},
    Fixed{"b", ArrowTag::kBool},
    Fixed{"c", ArrowTag::kInt, 8, true},
    Fixed{"C", ArrowTag::kInt, 8, false},
    Fixed{"s", ArrowTag::kInt, 16, true},
    Fixed{"S", ArrowTag::kInt, 16, false},
    Fixed{"i", ArrowTag::kInt, 32, true},
    Fixed{"I", ArrowTag::kInt, 32, false},
    Fixed{"l", ArrowTag::kInt, 64, true},
    Fixed{"L", ArrowTag::kInt, 64, false},
    Fixed{"f", ArrowTag::kFloat, 32, false, 1},
    Fixed{"g", ArrowTag::kFloat, 64, false, 2},
    Fixed{"z", ArrowTag::kBinary},
    Fixed{"Z", ArrowTag::kLargeBinary},
    Fixed{"u", ArrowTag::kUtf8},
    Fixed{"U", ArrowTag::kLargeUtf8},
    Fixed{"tdD", ArrowTag::kDate, 32, false, 0},
    Fixed{"tdm", ArrowTag::kDate, 64, false, 1},
    Fixed{"tts", ArrowTag::kTime, 32, false, 0},
    Fixed{"ttm", ArrowTag::kTime, 32, false, 1},
    Fixed{"ttu", ArrowTag::kTime, 64, false, 2},
    Fixed{"ttn", ArrowTag::kTime, 64, false, 3},
    Fixed{"tDs", ArrowTag::kDuration, 64, false, 0},
    Fixed{"tDm", ArrowTag::kDuration, 64, false, 1},
    Fixed{"tDu", ArrowTag::kDuration, 64, false, 2},
    Fixed{"tDn", ArrowTag::kDuration, 64, false, 3},
    Fixed{"tiM", ArrowTag::kInterval, 32, false, 0},
    Fixed{"tiD", ArrowTag::kInterval, 64, false, 1},
    Fixed{"tin", ArrowTag::kInterval, 128, false, 2},
    Fixed{"+l", ArrowTag::kList},
    Fixed{"+L", ArrowTag::kLargeList},
    Fixed{"+s", ArrowTag::kStruct},
    Fixed{"+m", ArrowTag::kMap},
};

// Numbers parted by commas, as many as there are places; false when not so.
bool numbers(std::string_view text, std::initializer_list<std::int32_t*> places) {
  const char* at = text.data();
  const char* end = at + text.size();
  for (std::int32_t* place : places) {
    if (place != *places.begin()) {
      if (at == end || *at != ',') return false;
      ++at;
    }
    auto [next, error] = std::from_chars(at, end, *place);
    if (error != std::errc() || *place < 0) return false;
    at = next;
  }
  return at == end;
}

bool read_decimal(std::string_view text, ArrowField& field) {
  field.tag = ArrowTag::kDecimal;
  field.width = 128;
  bool read = std::ranges::count(text, ',') == 2
                  ? numbers(text, {&field.precision, &field.scale, &field.width})
                  : numbers(text, {&field.precision, &field.scale});
  return read && (field.width == 32 || field.width == 64 || field.width == 128);
}

bool read_timestamp(std::string_view text, ArrowField& field) {
  constexpr std::string_view kUnits = "smun";
  if (text.size() < 2 || text[1] != ':' || !kUnits.contains(text[0])) return false;
  field.tag = ArrowTag::kTimestamp;
  field.width = 64;
  field.unit = static_cast<std::int16_t>(kUnits.find(text[0]));
  field.zone = text.substr(2);
  return true;
}

bool read_format(std::string_view format, ArrowField& field) {
  const auto* fixed = std::ranges::find(kFixed, format, &Fixed::format);
  if (fixed != kFixed.end()) {
    field.tag = fixed->tag;
    field.width = fixed->width;
    field.is_signed = fixed->is_signed;
    field.unit = fixed->unit;
    return true;
  }
  if (format.starts_with("d:")) return read_decimal(format.substr(2), field);
  if (format.starts_with("ts")) return read_timestamp(format.substr(2), field);
  if (format.starts_with("w:")) {
    field.tag = ArrowTag::kFixedBinary;
    return numbers(format.substr(2), {&field.width});
  }
  if (!format.starts_with("+w:")) return false;
  field.tag = ArrowTag::kFixedList;
  return numbers(format.substr(3), {&field.width});
}

}  // namespace

base::Result<ArrowField> arrow_field(const ArrowSchema& schema) {
  constexpr std::int64_t kNullable = 2;
  ArrowField field;
  field.name = schema.name == nullptr ? "" : schema.name;
  field.nullable = (schema.flags & kNullable) != 0;
  if (schema.dictionary != nullptr || !read_format(schema.format, field)) {
    return base::fail(
        base::ErrorKind::kUnsupported,
        fmt::format("column {}: its type has no Arrow form here; cast it to VARCHAR", field.name));
  }
  for (std::int64_t i = 0; i < schema.n_children; ++i) {
    ASSIGN_OR_RETURN(ArrowField child, arrow_field(*schema.children[i]));
    field.children.push_back(std::move(child));
  }
  return field;
}

}  // namespace tool::connectors
