// Any bytes as a bound or a partition value of a type, and as its text: what is read is written as
// it was, in bytes and in JSON, and every text that is taken has one value.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "lakeproxy/iceberg/schema/literal_json.h"
#include "lakeproxy/iceberg/schema/literal_text.h"
#include "lakeproxy/iceberg/schema/type.h"
#include "lakeproxy/iceberg/value/single_value.h"

namespace {

using namespace lake::model;  // NOLINT: this file is about nothing else.
using lake::materialize::decode_single_value;
using lake::materialize::encode_single_value;

void require(bool holds) {
  if (!holds) std::abort();
}

constexpr std::array<const char*, 17> kTypes{
    "boolean", "int",      "long",         "float",          "double", "decimal(9, 2)",
    "date",    "time",     "timestamp",    "timestamptz",    "string", "decimal(38, 10)",
    "uuid",    "fixed[3]", "timestamp_ns", "timestamptz_ns", "binary"};

bool is_finite(const Literal& value) {
  if (const auto* number = std::get_if<float>(&value)) return std::isfinite(*number);
  if (const auto* number = std::get_if<double>(&value)) return std::isfinite(*number);
  return true;
}

// Microseconds that no day has can stand in a file of somebody else.
bool is_of_its_type(const Literal& value, const Type& type) {
  const auto* micros = std::get_if<std::int64_t>(&value);
  return type.kind() != TypeKind::kTime || (*micros >= 0 && *micros <= 86'399'999'999);
}

void check_bytes(std::string_view bytes, const Type& type) {
  const auto value = decode_single_value(bytes, type);
  if (!value) return;
  require(lake::materialize::has_alternative_of(*value, type));
  const std::string written = encode_single_value(*value);
  const auto again = decode_single_value(written, type);
  require(again && encode_single_value(*again) == written);
  const auto json = to_json(*value, type);
  if (!is_finite(*value) || !is_of_its_type(*value, type)) return;
  const auto read = literal_from_json(json, type, "value");
  require(read && encode_single_value(*read) == written);
}

void check_text(std::string_view text) {
  if (const auto type = parse_primitive_type(text)) {
    const auto again = parse_primitive_type(type->to_string());
    require(again && again->to_string() == type->to_string());
  }
  if (const auto days = parse_date(text)) require(parse_date(format_date(*days)) == days);
  if (const auto micros = parse_time(text)) require(parse_time(format_time(*micros)) == micros);
  for (const auto ticks : {kMicrosPerSecond, kNanosPerSecond}) {
    const auto time = parse_timestamp(text, ticks);
    if (time) require(parse_timestamp(format_timestamp(*time, ticks), ticks) == time);
  }
  for (const int scale : {0, 2, 38}) {
    const auto decimal = parse_decimal(text, 38, scale);
    if (decimal) require(parse_decimal(format_decimal(*decimal, scale), 38, scale) == decimal);
  }
}

}  // namespace

// A byte that chooses the type, and the value.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  check_bytes(bytes, parse_primitive_type(kTypes.at(data[0] % kTypes.size())).value());
  check_text(bytes);
  return 0;
}
