#include "base/http/accept_encoding.h"

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <optional>
#include <string_view>

namespace base::http {
namespace {

using boost::algorithm::iequals;

constexpr int kMost = 1000;  // Weights are counted in thousandths.

struct Weights {
  std::optional<int> gzip, identity, others;
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t";
  const auto begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// "0", "0.5", "1.000". Nothing: another text.
std::optional<int> parse_weight(std::string_view text) {
  constexpr std::size_t kLongest = 5;
  if (text.empty() || text.size() > kLongest || (text[0] != '0' && text[0] != '1')) {
    return std::nullopt;
  }
  int weight = (text[0] - '0') * kMost;
  text.remove_prefix(1);
  if (text.empty()) return weight;
  if (text[0] != '.') return std::nullopt;
  int place = kMost / 10;
  for (char digit : text.substr(1)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    weight += (digit - '0') * place;
    place /= 10;
  }
  return weight <= kMost ? std::optional(weight) : std::nullopt;
}

// What follows the name: nothing, or ";q=" and a weight.
std::optional<int> weight_of(std::string_view parameters) {
  if (parameters.empty()) return kMost;
  parameters = trimmed(parameters.substr(1));
  if (!boost::algorithm::istarts_with(parameters, "q=")) return std::nullopt;
  return parse_weight(parameters.substr(2));
}

void note(std::string_view member, Weights& weights) {
  const std::size_t semicolon = std::min(member.find(';'), member.size());
  const std::string_view name = trimmed(member.substr(0, semicolon));
  const auto weight = weight_of(trimmed(member.substr(semicolon)));
  if (!weight) return;
  auto lower = [&](std::optional<int>& held) { held = std::min(held.value_or(kMost), *weight); };
  if (iequals(name, "gzip") || iequals(name, "x-gzip")) lower(weights.gzip);
  if (iequals(name, "identity")) lower(weights.identity);
  if (name == "*") lower(weights.others);
}

}  // namespace

AcceptedCodings accepted_codings(const Headers& headers) {
  Weights weights;
  for (const Headers::Field& field : headers.fields()) {
    if (!field.is("Accept-Encoding")) continue;
    std::string_view rest = field.value;
    while (!rest.empty()) {
      std::string_view member = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), member.size() + 1));
      note(member, weights);
    }
  }
  const int gzip = weights.gzip.value_or(weights.others.value_or(0));
  const auto identity = weights.identity ? weights.identity : weights.others;
  // Where it is not named it is taken, less gladly than what is.
  return {.gzip = gzip > 0 && gzip >= identity.value_or(0), .identity = identity != 0};
}

}  // namespace base::http
