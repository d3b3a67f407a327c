#include "toolserver/connectors/lake/scan_filter.h"

#include <algorithm>
#include <chrono>

#include "base/core/text.h"
#include "toolserver/connectors/sql/sql_names.h"

namespace tool::lake {
namespace {

using base::json::Array;
using base::json::Object;
using base::json::Value;
using connectors::Condition;
using connectors::ConditionValue;
using connectors::Moment;
using Op = Condition::Op;

// So many digits at `at`, as a number.
std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  const std::string_view part = text.substr(std::min(at, text.size()), count);
  if (part.size() != count ||
      !std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  int value = 0;
  for (char c : part) value = 10 * value + (c - '0');
  return value;
}

// "2026-11-27"; the engine takes other forms as well, the lake does not.
bool is_date(std::string_view text) {
  constexpr std::size_t kLength = 10;
  const auto year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  if (text.size() != kLength || text[4] != '-' || text[7] != '-' || !year || !month || !day) {
    return false;
  }
  using namespace std::chrono;
  return *year > 0 &&
         year_month_day(std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                        std::chrono::day(static_cast<unsigned>(*day)))
             .ok();
}

// "08:00:00", with up to six digits behind a point.
bool is_time(std::string_view text) {
  constexpr std::size_t kSeconds = 8, kLongest = 15;
  const auto hour = digits(text, 0, 2), minute = digits(text, 3, 2), second = digits(text, 6, 2);
  if (!hour || !minute || !second || text[2] != ':' || text[5] != ':' || *hour > 23 ||
      *minute > 59 || *second > 59) {
    return false;
  }
  if (text.size() == kSeconds) return true;
  return text.size() > kSeconds + 1 && text.size() <= kLongest && text[kSeconds] == '.' &&
         digits(text, kSeconds + 1, text.size() - kSeconds - 1).has_value();
}

// The engine's session is in UTC, as its texts without a zone are.
std::optional<Value> moment_of(std::string_view text, bool has_zone) {
  constexpr std::size_t kDate = 10;
  const std::string zone = has_zone ? "+00:00" : "";
  if (is_date(text)) return Value(std::string(text) + "T00:00:00" + zone);
  const bool parted = text.size() > kDate && (text[kDate] == ' ' || text[kDate] == 'T');
  if (!parted || !is_date(text.substr(0, kDate)) || !is_time(text.substr(kDate + 1))) {
    return std::nullopt;
  }
  return Value(std::string(text.substr(0, kDate)) + 'T' + std::string(text.substr(kDate + 1)) +
               zone);
}

// Numbers with a point are left out: the engine takes NaN for the greatest, and no bound holds it.
std::optional<Value> literal_of(const ConditionValue& value, std::string_view type) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    const bool whole = type == "int" || type == "long" || type.starts_with("decimal(");
    return whole ? std::optional(Value(*number)) : std::nullopt;
  }
  const auto* moment = std::get_if<Moment>(&value);
  if (moment == nullptr && type == "string") return Value(std::get<std::string>(value));
  const std::string& text = moment != nullptr ? moment->text : std::get<std::string>(value);
  if (type == "date" && is_date(text)) return Value(text);
  if (type == "timestamp" || type == "timestamptz") return moment_of(text, type == "timestamptz");
  return std::nullopt;
}

std::string_view type_of(Op op) {
  switch (op) {
    case Op::kEq: return "eq";
    case Op::kLt: return "lt";
    case Op::kLtEq: return "lt-eq";
    case Op::kGt: return "gt";
    case Op::kGtEq: return "gt-eq";
    case Op::kIn: return "in";
    case Op::kIsNull: return "is-null";
    case Op::kNotNull: return "not-null";
  }
  return {};
}

// The one column that the engine can mean; a dot would part a name in the lake's eyes.
const ShownColumn* column_of(const ShownTable& table, const std::string& name) {
  const std::string wanted = connectors::lower_ascii(name);
  const ShownColumn* found = nullptr;
  for (const ShownColumn& column : table.shown) {
    if (connectors::lower_ascii(column.name) != wanted) continue;
    if (found != nullptr) return nullptr;
    found = &column;
  }
  return found != nullptr && !found->name.contains('.') ? found : nullptr;
}

std::optional<Object> predicate_of(const Condition& condition, const ShownTable& table) {
  const ShownColumn* column = column_of(table, condition.column);
  if (column == nullptr) return std::nullopt;
  Object predicate{{"type", type_of(condition.op)}, {"term", column->name}};
  Array literals;
  for (const ConditionValue& value : condition.values) {
    auto literal = literal_of(value, column->type);
    if (!literal) return std::nullopt;
    literals.push_back(*std::move(literal));
  }
  if (condition.op == Op::kIn) {
    predicate["values"] = std::move(literals);
  } else if (!literals.empty()) {
    predicate["value"] = std::move(literals.front());
  }
  return predicate;
}

}  // namespace

std::optional<Object> filter_of(const connectors::QualifiedName& name, const ShownTable& table,
                                const std::vector<Condition>& conditions) {
  std::optional<Object> filter;
  for (const Condition& condition : conditions) {
    if (condition.table.key() != name.key()) continue;
    auto predicate = predicate_of(condition, table);
    if (!predicate) continue;
    filter = filter ? Object{{"type", "and"},
                             {"left", *std::move(filter)},
                             {"right", *std::move(predicate)}}
                    : *std::move(predicate);
  }
  return filter;
}

}  // namespace tool::lake
