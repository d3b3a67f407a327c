#include "lakeproxy/operation/spark_sql.h"

#include <algorithm>
#include <array>
#include <vector>

namespace lake::operation {
namespace {

// Of code points, and of NULL where an argument is.
constexpr std::array<std::string_view, 6> kFunctions{"left",   "right",  "length",
                                                     "repeat", "nullif", "coalesce"};
// Of a text and a number of characters.
constexpr std::array<std::string_view, 3> kOfCounts{"left", "right", "repeat"};
constexpr std::array<std::string_view, 16> kWords{
    "AND",  "OR",   "NOT", "IS",      "NULL", "IN",    "CASE", "WHEN",
    "THEN", "ELSE", "END", "BETWEEN", "TRUE", "FALSE", "CAST", "AS"};
constexpr std::array<std::string_view, 10> kOperators{
    "||", "<>", "!=", "<=", ">=", "<", ">", "=", "(", ")"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_number(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' '; }

std::string upper(std::string_view word) {
  std::string text(word);
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; });
  return text;
}

// Token by token; the first that is not known ends it.
class Translation {
 public:
  Translation(std::string_view rest, const model::Schema& schema) : rest_(rest), schema_(&schema) {}

  std::optional<std::string> run() {
    while (!rest_.empty()) {
      if (!token()) return std::nullopt;
    }
    // A comparison of texts with numbers casts, each engine in its own way.
    const bool mixes = (has_texts_ && has_numbers_) || !open_.empty();
    return mixes ? std::nullopt : std::optional(std::move(text_));
  }

 private:
  bool token() {
    const char first = rest_.front();
    if (is_space(first)) return take(1, " ");
    if (first == '"') return quoted();
    if (first == '\'') return literal();
    if (is_number(first)) return number();
    if (is_letter(first)) return word();
    if (first == ',') return !open_.empty() && take(1, ",");
    return sign();
  }

  bool take(std::size_t length, std::string_view written) {
    text_.append(written);
    rest_.remove_prefix(length);
    return true;
  }

  // A name may be that of a function.
  bool quoted() {
    std::string name;
    std::size_t i = 1;
    for (;; ++i) {
      if (i >= rest_.size()) return false;
      if (rest_[i] != '"') {
        name += rest_[i];
      } else if (i + 1 < rest_.size() && rest_[i + 1] == '"') {
        name += rest_[i++];
      } else {
        break;
      }
    }
    const std::size_t length = i + 1;
    if (rest_.substr(length).starts_with('(')) return function(name, length);
    const auto column = std::ranges::find(schema_->fields, name, &model::Field::name);
    if (column == schema_->fields.end()) return false;
    switch (column->type.kind()) {
      case model::TypeKind::kString: has_texts_ = true; break;
      case model::TypeKind::kInt:
      case model::TypeKind::kLong: has_numbers_ = true; break;
      default: return false;
    }
    return take(length, quote_for_spark(name));
  }

  bool function(std::string_view name, std::size_t length) {
    if (std::ranges::find(kFunctions, name) == kFunctions.end()) return false;
    if (name == "length" && !in_counts()) has_numbers_ = true;
    open_.push_back(std::ranges::find(kOfCounts, name) != kOfCounts.end());
    return take(length + 1, std::string(name) + "(");
  }

  // A backslash escapes there, and two quotes in a row end a text and begin the next.
  bool literal() {
    const auto end = rest_.find('\'', 1);
    if (end == std::string_view::npos) return false;
    const std::string_view whole = rest_.substr(0, end + 1);
    if (whole.contains('\\') || rest_.substr(end + 1).starts_with('\'')) return false;
    has_texts_ = true;
    return take(whole.size(), whole);
  }

  bool number() {
    std::size_t length = 1;
    while (length < rest_.size() && is_number(rest_[length])) ++length;
    // Whole numbers of 32 bits, and no "1.5", "1e9".
    if (length > 9) return false;
    const std::string_view after = rest_.substr(length);
    if (!after.empty() && (after.front() == '.' || is_letter(after.front()))) return false;
    if (!in_counts()) has_numbers_ = true;
    return take(length, rest_.substr(0, length));
  }

  bool word() {
    std::size_t length = 1;
    while (length < rest_.size() && (is_letter(rest_[length]) || is_number(rest_[length]))) {
      ++length;
    }
    const std::string_view given = rest_.substr(0, length);
    if (rest_.substr(length).starts_with('(') &&
        std::ranges::find(kFunctions, given) != kFunctions.end()) {
      return function(given, length);
    }
    const std::string known = upper(given);
    if (known == "VARCHAR") return text_.ends_with("AS ") && take(length, "STRING");
    if (std::ranges::find(kWords, known) == kWords.end()) return false;
    // The type behind AS is the only word that is no value.
    if (text_.ends_with("AS ")) return false;
    return take(length, known);
  }

  bool sign() {
    for (const std::string_view one : kOperators) {
      if (!rest_.starts_with(one)) continue;
      if (one == "(") open_.push_back(false);
      if (one == ")") {
        if (open_.empty()) return false;
        open_.pop_back();
      }
      return take(one.size(), one);
    }
    return false;
  }

  // A number among these arguments is no value that is compared.
  [[nodiscard]] bool in_counts() const { return !open_.empty() && open_.back(); }

  std::string_view rest_;
  const model::Schema* schema_;
  std::string text_;
  std::vector<bool> open_;  ///< Parentheses: whether they are those of kOfCounts.
  bool has_texts_ = false;
  bool has_numbers_ = false;
};

}  // namespace

std::string quote_for_spark(std::string_view name) {
  std::string text = "`";
  for (const char c : name) text.append(c == '`' ? 2 : 1, c);
  return text + '`';
}

std::optional<std::string> in_spark(std::string_view expression, const model::Schema& schema) {
  return Translation(expression, schema).run();
}

}  // namespace lake::operation
