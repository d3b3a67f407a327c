#include "toolserver/connectors/sql/sql_growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/core/text.h"

namespace tool::connectors {
namespace {

using base::json::Array;
using base::json::Value;
using Answer = std::expected<Growth, std::string>;

enum class Way : std::uint8_t {
  kSum,        // Joins its arguments.
  kPerItem,    // Runs a lambda for each item.
  kCount,      // Makes as many as a count says.
  kRange,      // Makes a list between numbers.
  kReplace,    // Puts a text in for each match.
  kFormat,     // Has widths in its text.
  kPattern,    // Searches by backtracking.
  kTwofold,    // Escapes: up to two characters for one.
  kEightfold,  // Eight characters for one.
  kGather,     // Holds the values of many rows.
  kCut,        // Keeps as many characters as a count says.
};

struct Entry {
  std::string_view name;
  Way way;
  std::size_t argument = 0;  // Which one decides.
};

constexpr std::array kEntries{
    Entry{"||", Way::kSum},
    Entry{"concat", Way::kSum},
    Entry{"concat_ws", Way::kSum},
    Entry{"list_concat", Way::kSum},
    Entry{"list_cat", Way::kSum},
    Entry{"array_concat", Way::kSum},
    Entry{"array_cat", Way::kSum},
    Entry{"list_value", Way::kSum},
    Entry{"list_pack", Way::kSum},
    Entry{"array_value", Way::kSum},
    Entry{"struct_pack", Way::kSum},
    Entry{"row", Way::kSum},
    Entry{"json_array", Way::kSum},
    Entry{"json_object", Way::kSum},
    Entry{"list_transform", Way::kPerItem},
    Entry{"list_apply", Way::kPerItem},
    Entry{"array_transform", Way::kPerItem},
    Entry{"array_apply", Way::kPerItem},
    Entry{"apply", Way::kPerItem},
    Entry{"list_filter", Way::kPerItem},
    Entry{"array_filter", Way::kPerItem},
    Entry{"filter", Way::kPerItem},
    Entry{"array_to_string", Way::kPerItem},
    Entry{"list_string_agg", Way::kPerItem},
    Entry{"+", Way::kSum},
    Entry{"add", Way::kSum},
    Entry{"repeat", Way::kCount, 1},
    Entry{"lpad", Way::kCount, 1},
    Entry{"rpad", Way::kCount, 1},
    Entry{"list_resize", Way::kCount, 1},
    Entry{"array_resize", Way::kCount, 1},
    Entry{"range", Way::kRange},
    Entry{"generate_series", Way::kRange},
    Entry{"replace", Way::kReplace, 2},
    Entry{"regexp_replace", Way::kReplace, 2},
    Entry{"format", Way::kFormat, 0},
    Entry{"printf", Way::kFormat, 0},
    Entry{"~~", Way::kPattern, 1},
    Entry{"!~~", Way::kPattern, 1},
    Entry{"~~*", Way::kPattern, 1},
    Entry{"!~~*", Way::kPattern, 1},
    Entry{"~~~", Way::kPattern, 1},
    Entry{"like_escape", Way::kPattern, 1},
    Entry{"not_like_escape", Way::kPattern, 1},
    Entry{"ilike_escape", Way::kPattern, 1},
    Entry{"not_ilike_escape", Way::kPattern, 1},
    Entry{"to_json", Way::kTwofold},
    Entry{"json_quote", Way::kTwofold},
    Entry{"array_to_json", Way::kTwofold},
    Entry{"row_to_json", Way::kTwofold},
    Entry{"regexp_escape", Way::kTwofold},
    Entry{"hex", Way::kTwofold},
    Entry{"to_hex", Way::kTwofold},
    Entry{"url_encode", Way::kEightfold},
    Entry{"bin", Way::kEightfold},
    Entry{"to_binary", Way::kEightfold},
    Entry{"string_agg", Way::kGather},
    Entry{"group_concat", Way::kGather},
    Entry{"listagg", Way::kGather},
    Entry{"list", Way::kGather},
    Entry{"array_agg", Way::kGather},
    Entry{"json_group_array", Way::kGather},
    Entry{"json_group_object", Way::kGather},
    Entry{"histogram", Way::kGather},
    Entry{"histogram_exact", Way::kGather},
    Entry{"bitstring_agg", Way::kGather},
    Entry{"left", Way::kCut, 1},
    Entry{"right", Way::kCut, 1},
    Entry{"substr", Way::kCut, 2},
    Entry{"substring", Way::kCut, 2},
};

std::unexpected<std::string> cannot(std::string_view name, std::string_view needs) {
  return std::unexpected(fmt::format("the function {} {}", name, needs));
}

std::optional<double> number_of(const Value* value) {
  if (value == nullptr || !value->is_number()) return std::nullopt;
  double number = value->to_number<double>();
  if (!std::isfinite(number)) return std::nullopt;
  return std::abs(number);
}

const Value* text_of(const Array& arguments, std::size_t index, const Array& params) {
  if (index >= arguments.size()) return nullptr;
  const Value* value = constant_of(arguments[index], params);
  return value != nullptr && value->is_string() ? value : nullptr;
}

Answer by_count(const Entry& entry, const Array& arguments, const Array& params) {
  std::optional<double> count;
  if (entry.argument < arguments.size()) {
    count = number_of(constant_of(arguments[entry.argument], params));
  }
  if (!count) return cannot(entry.name, "needs a constant count");
  return Growth{std::max(1.0, *count), Combine::kProduct};
}

Answer by_range(const Entry& entry, const Array& arguments, const Array& params) {
  double most = 1;
  for (const Value& argument : arguments) {
    auto number = number_of(constant_of(argument, params));
    if (!number || *number != std::floor(*number)) {
      return cannot(entry.name, "makes a list and needs constant whole numbers; use it in FROM");
    }
    most = std::max(most, *number);
  }
  return Growth{2 * most, Combine::kProduct};
}

Answer by_replacement(const Entry& entry, const Array& arguments, const Array& params) {
  constexpr double kUnknown = 256;
  const Value* text = text_of(arguments, entry.argument, params);
  double own = text == nullptr ? kUnknown : static_cast<double>(text->get_string().size());
  // Of replace() each match is as long as what is looked for.
  const Value* match = entry.name == "replace" ? text_of(arguments, 1, params) : nullptr;
  if (match != nullptr && !match->get_string().empty()) {
    own /= static_cast<double>(match->get_string().size());
  }
  return Growth{std::max(1.0, own), Combine::kProduct};
}

// A character has four bytes at most. Without a constant it is a copy.
Answer by_cut(const Entry& entry, const Array& arguments, const Array& params) {
  if (entry.argument >= arguments.size()) return Growth{};
  const Value* value = constant_of(arguments[entry.argument], params);
  auto count = number_of(value);
  // left(text, -1) is all but the last.
  if (!count || value->to_number<double>() < 0) return Growth{};
  return Growth{.most = 1 + *count * 4 / kUnit};
}

// All numbers in the text count as widths: more than there are, never less.
Answer by_format(const Entry& entry, const Array& arguments, const Array& params) {
  const Value* text = text_of(arguments, entry.argument, params);
  if (text == nullptr) return cannot(entry.name, "needs a constant text");
  double own = static_cast<double>(arguments.size());
  double number = 0;
  char before = 0;
  for (char c : text->get_string()) {
    if (c == '*' || (before == ':' && c == '{')) return cannot(entry.name, "needs constant widths");
    bool digit = c >= '0' && c <= '9';
    number = digit ? number * 10 + (c - '0') : 0;
    own = std::max(own, number + 1);
    if (c != '.' && c != '<' && c != '>' && c != '^' && !digit) before = c;
  }
  return Growth{own, Combine::kSum};
}

// Each wildcard that is not the last multiplies the time by the text's length,
// and nothing interrupts it.
Answer by_pattern(const Entry& entry, const Array& arguments, const Array& params) {
  constexpr int kMostRuns = 3;
  const Value* text = text_of(arguments, entry.argument, params);
  if (text == nullptr) return cannot(entry.name, "(LIKE) needs a constant pattern");
  std::string_view pattern(text->get_string());
  char any = entry.name == "~~~" ? '*' : '%';
  while (pattern.ends_with(any)) pattern.remove_suffix(1);
  int runs = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == any && (i == 0 || pattern[i - 1] != any)) ++runs;
  }
  if (runs > kMostRuns) return cannot(entry.name, "(LIKE) has more than three wildcards");
  return Growth{};
}

Answer by_way(const Entry& entry, const Array& arguments, const Array& params) {
  switch (entry.way) {
    case Way::kSum: return Growth{1, Combine::kSum};
    case Way::kPerItem: return Growth{1, Combine::kProduct};
    case Way::kCount: return by_count(entry, arguments, params);
    case Way::kRange: return by_range(entry, arguments, params);
    case Way::kReplace: return by_replacement(entry, arguments, params);
    case Way::kFormat: return by_format(entry, arguments, params);
    case Way::kPattern: return by_pattern(entry, arguments, params);
    case Way::kTwofold: return Growth{2, Combine::kLargest};
    case Way::kEightfold: return Growth{8, Combine::kLargest};
    case Way::kGather: return Growth{.arguments = Combine::kSum, .gathers = true};
    case Way::kCut: return by_cut(entry, arguments, params);
  }
  return cannot(entry.name, "is not known");
}

}  // namespace

const Value* constant_of(const Value& expression, const Array& params) {
  const auto* object = expression.if_object();
  if (object == nullptr) return nullptr;
  const Value* kind = object->if_contains("class");
  if (kind == nullptr || !kind->is_string()) return nullptr;
  if (kind->get_string() == "CONSTANT") {
    const Value* holder = object->if_contains("value");
    const auto* value = holder == nullptr ? nullptr : holder->if_object();
    return value == nullptr ? nullptr : value->if_contains("value");
  }
  if (kind->get_string() != "PARAMETER") return nullptr;
  const Value* identifier = object->if_contains("identifier");
  if (identifier == nullptr || !identifier->is_string()) return nullptr;
  auto number = base::parse_int64(identifier->get_string());
  if (!number || *number < 1 || static_cast<std::size_t>(*number) > params.size()) return nullptr;
  return &params[static_cast<std::size_t>(*number - 1)];
}

double growth_of_constant(const Value& expression, const Array& params) {
  const Value* value = constant_of(expression, params);
  if (value == nullptr || !value->is_string()) return 1;
  return std::max(1.0, static_cast<double>(value->get_string().size() / kUnit));
}

Answer growth_of(std::string_view name, const Array& arguments, const Array& params) {
  const auto* found = std::ranges::find(kEntries, name, &Entry::name);
  if (found == kEntries.end()) return Growth{};
  Answer growth = by_way(*found, arguments, params);
  if (growth) growth->is_listed = true;
  return growth;
}

}  // namespace tool::connectors
