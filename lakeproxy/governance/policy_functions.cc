#include "lakeproxy/governance/policy_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace lake::governance {
namespace {

using base::json::Object;
using base::json::Value;

constexpr auto kExpressions = std::to_array<std::string_view>(
    {"BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT",
     "FUNCTION", "OPERATOR"});

// clang-format off
constexpr auto kFunctions = std::to_array<std::string_view>({
    // Operators.
    "!", "!~~", "!~~*", "%", "&", "*", "**", "+", "-", "->", "->>", "/", "//", "<<", ">>", "@", "^", "^@", "|", "||",
    "~", "~~", "~~*", "~~~",
    // Texts and binaries.
    "ascii", "base64", "bit_length", "char_length", "character_length", "chr", "concat", "concat_ws", "contains",
    "ends_with", "from_base64", "from_hex", "hex", "ilike_escape", "instr", "lcase", "left", "left_grapheme",
    "len", "length", "length_grapheme", "like_escape", "lower", "lpad", "ltrim", "md5", "nfc_normalize",
    "not_ilike_escape", "not_like_escape", "octet_length", "ord", "position", "prefix", "regexp_extract",
    "regexp_full_match", "regexp_matches", "regexp_replace", "repeat", "replace", "reverse", "right",
    "right_grapheme", "rpad", "rtrim", "sha1", "sha256", "split_part", "starts_with", "str_split",
    "string_split", "strip_accents", "strlen", "strpos", "substr", "substring", "substring_grapheme", "suffix",
    "to_base64", "to_hex", "translate", "trim", "ucase", "unhex", "unicode", "upper",
    // Numbers.
    "abs", "add", "cbrt", "ceil", "ceiling", "divide", "even", "exp", "fdiv", "floor", "fmod", "gcd", "greatest",
    "isfinite", "isinf", "isnan", "lcm", "least", "ln", "log", "log10", "log2", "mod", "multiply", "nullif", "pow",
    "power", "round", "round_even", "sign", "sqrt", "subtract", "trunc",
    // Dates and times, but for the time of now.
    "date_add", "date_diff", "date_part", "date_sub", "date_trunc", "datediff", "datepart", "datesub", "datetrunc",
    "day", "dayname", "dayofmonth", "dayofweek", "dayofyear", "epoch", "epoch_ms", "epoch_ns", "epoch_us", "hour",
    "isodow", "isoyear", "last_day", "make_date", "make_time", "make_timestamp", "minute", "month", "monthname",
    "quarter", "second", "strftime", "strptime", "time_bucket", "to_days", "to_hours", "to_microseconds",
    "to_milliseconds", "to_minutes", "to_months", "to_seconds", "to_timestamp", "to_weeks", "to_years",
    "try_strptime", "week", "weekday", "weekofyear", "year", "yearweek",
    // Lists, structs, maps, JSON.
    "array_contains", "array_extract", "array_has", "array_length", "array_slice", "cardinality", "element_at",
    "json_extract", "json_extract_string", "list_concat", "list_contains", "list_element", "list_extract",
    "list_has", "list_slice", "list_value", "map", "map_extract", "map_keys", "map_values", "row",
    "struct_extract", "struct_pack",
});
// clang-format on

// How many bytes a value may have for each byte of the arguments, or alone.
constexpr double kMostGrowth = 1'000'000;
// A call makes of a byte this many at most, as hex() and casts of binaries do, but for those that
// repeat or replace.
constexpr double kLonger = 4;
constexpr auto kNoLonger = std::to_array<std::string_view>(
    {"concat", "left", "left_grapheme", "ltrim", "nullif", "reverse", "right", "right_grapheme",
     "rtrim", "split_part", "substr", "substring", "substring_grapheme", "trim"});

base::Error refused(std::string message) {
  return base::fail(base::ErrorKind::kInvalid, std::move(message));
}

bool is_one_of(std::span<const std::string_view> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

std::string_view text_of(const Object& object, std::string_view member) {
  const Value* value = object.if_contains(member);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : "";
}

// A number that stands in the text; nothing for another expression.
std::optional<double> constant_of(const Value& expression) {
  const Object* object = expression.if_object();
  if (object == nullptr || text_of(*object, "class") != "CONSTANT") return std::nullopt;
  const Value* constant = object->if_contains("value");
  if (constant == nullptr || !constant->is_object()) return std::nullopt;
  const Value* value = constant->get_object().if_contains("value");
  if (value == nullptr) return std::nullopt;
  if (value->is_int64()) return static_cast<double>(value->get_int64());
  if (value->is_uint64()) return static_cast<double>(value->get_uint64());
  return std::nullopt;
}

bool is_expression(const Object& object) { return object.contains("class"); }

base::Result<double> growth_of(const Value& value);

base::Result<double> sum_of_parts(const Object& object) {
  double sum = 0;
  for (const auto& [name, part] : object) {
    ASSIGN_OR_RETURN(const double growth, growth_of(part));
    sum += growth;
  }
  return sum;
}

// How often a call writes what it is given: those that repeat, by what stands there; those that
// replace, by what is put in.
base::Result<double> times_of(std::string_view function, const base::json::Array& arguments) {
  const bool repeats = function == "repeat" || function == "lpad" || function == "rpad";
  if (repeats && arguments.size() >= 2) {
    const auto count = constant_of(arguments[1]);
    if (!count) return refused(fmt::format("{}: the length must be a number", function));
    return std::max(1.0, *count);
  }
  if ((function == "replace" || function == "regexp_replace") && arguments.size() >= 3) {
    ASSIGN_OR_RETURN(const double put_in, growth_of(arguments[2]));
    return std::max(1.0, put_in);
  }
  return is_one_of(kNoLonger, function) ? 1.0 : kLonger;
}

base::Result<double> growth_of_call(const Object& call) {
  ASSIGN_OR_RETURN(const double sum, sum_of_parts(call));
  const Value* is_operator = call.if_contains("is_operator");
  if (is_operator != nullptr && *is_operator == true) return sum;
  const Value* children = call.if_contains("children");
  if (children == nullptr || !children->is_array()) return sum * kLonger;
  ASSIGN_OR_RETURN(const double times,
                   times_of(text_of(call, "function_name"), children->get_array()));
  return std::max(1.0, sum) * times;
}

// Of a text its bytes, of anything else enough.
double size_of_constant(const Object& constant) {
  const Value* value = constant.if_contains("value");
  if (value == nullptr || !value->is_object()) return 16;
  return std::max<double>(16, static_cast<double>(text_of(value->get_object(), "value").size()));
}

base::Result<double> growth_of(const Value& value) {
  if (const base::json::Array* array = value.if_array()) {
    double sum = 0;
    for (const Value& part : *array) {
      ASSIGN_OR_RETURN(const double growth, growth_of(part));
      sum += growth;
    }
    return sum;
  }
  const Object* object = value.if_object();
  if (object == nullptr) return 0.0;
  if (!is_expression(*object)) return sum_of_parts(*object);
  const std::string_view kind = text_of(*object, "class");
  if (kind == "COLUMN_REF") return 1.0;
  if (kind == "CONSTANT") return size_of_constant(*object);
  if (kind == "FUNCTION") return growth_of_call(*object);
  ASSIGN_OR_RETURN(const double sum, sum_of_parts(*object));
  return kind == "CAST" ? sum * kLonger : sum;
}

base::Status check_function(const Object& object) {
  const std::string_view name = text_of(object, "function_name");
  // The parser itself puts "main" before some, as trim().
  const std::string_view schema = text_of(object, "schema");
  if ((!schema.empty() && schema != "main") || !text_of(object, "catalog").empty()) {
    return refused(fmt::format("the function {} must stand without a schema", name));
  }
  if (!is_callable(name)) return refused(fmt::format("the function {} is not allowed", name));
  return {};
}

base::Status check_parts(const Value& value) {
  if (const base::json::Array* array = value.if_array()) {
    for (const Value& part : *array) RETURN_IF_ERROR(check_parts(part));
    return {};
  }
  const Object* object = value.if_object();
  if (object == nullptr) return {};
  if (is_expression(*object)) {
    const std::string_view kind = text_of(*object, "class");
    if (!is_one_of(kExpressions, kind)) {
      return refused(fmt::format("an expression of the kind {} is not allowed", kind));
    }
    if (!text_of(*object, "alias").empty()) return refused("an expression must have no name");
    if (kind == "FUNCTION") RETURN_IF_ERROR(check_function(*object));
    if (kind == "CONSTANT") return {};
  }
  for (const auto& [name, part] : *object) RETURN_IF_ERROR(check_parts(part));
  return {};
}

}  // namespace

bool is_callable(std::string_view function) { return is_one_of(kFunctions, function); }

base::Status check_expression(const Value& expression) {
  RETURN_IF_ERROR(check_parts(expression));
  ASSIGN_OR_RETURN(const double growth, growth_of(expression));
  if (growth <= kMostGrowth) return {};
  return refused("it can make a value a million times as large as what it is given");
}

}  // namespace lake::governance
