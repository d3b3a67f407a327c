#include "toolserver/guard/rule.h"

#include <algorithm>
#include <cctype>

namespace tool::guard {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_luhn(std::string_view text) {
  int sum = 0;
  int count = 0;
  for (std::size_t at = text.size(); at-- > 0;) {
    if (!is_digit(text[at])) continue;
    int digit = text[at] - '0';
    if (count++ % 2 == 1) digit = digit > 4 ? 2 * digit - 9 : 2 * digit;
    sum += digit;
  }
  return count >= 12 && sum % 10 == 0;
}

bool is_iban(std::string_view text) {
  std::string plain;
  for (unsigned char c : text) {
    if (std::isalnum(c) != 0) plain += static_cast<char>(std::toupper(c));
  }
  if (plain.size() < 15 || plain.size() > 34) return false;
  std::ranges::rotate(plain, plain.begin() + 4);
  int rest = 0;
  for (char c : plain) {
    int value = is_digit(c) ? c - '0' : c - 'A' + 10;
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest == 1;
}

}  // namespace

std::string_view name(RuleKind kind) {
  switch (kind) {
    case RuleKind::kInjection: return "injection";
    case RuleKind::kSecret: return "secret";
    case RuleKind::kPersonalData: return "personal data";
  }
  return "";
}

bool passes(RuleCheck check, std::string_view match) {
  switch (check) {
    case RuleCheck::kNone: return true;
    case RuleCheck::kLuhn: return is_luhn(match);
    case RuleCheck::kIban: return is_iban(match);
  }
  return false;
}

}  // namespace tool::guard
