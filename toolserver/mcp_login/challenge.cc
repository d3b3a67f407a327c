#include "toolserver/mcp_login/challenge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace tool::login {
namespace {

constexpr std::size_t kMostBytes = 16 << 10;
constexpr std::size_t kMostParameters = 64;

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
// Source: RFC 9110, section 5.6.2.
bool is_token(char c) {
  return is_alphanumeric(c) || std::string_view("!#$%&'*+-.^_`|~").contains(c);
}
// Source: RFC 9110, section 11.2.
bool is_token68(char c) { return is_alphanumeric(c) || std::string_view("-._~+/").contains(c); }
bool is_space(char c) { return c == ' ' || c == '\t'; }

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

// Parameters of one challenge, by their names in small letters.
struct Parsed {
  std::string scheme;
  std::map<std::string, std::string> parameters;
};

// A list of challenges, where the same comma parts challenges and parameters.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  std::optional<std::vector<Parsed>> read() {
    std::vector<Parsed> out;
    while (skip_commas(), !rest_.empty()) {
      std::string name = take(is_token);
      if (name.empty()) return std::nullopt;
      std::string_view after_name = rest_;
      skip_spaces();
      if (rest_.starts_with('=')) {
        if (out.empty() || !parameter(out.back(), lower(name))) return std::nullopt;
      } else {
        rest_ = after_name;
        out.push_back({lower(name), {}});
        if (!begin_challenge()) return std::nullopt;
      }
      skip_spaces();
      if (!rest_.empty() && !rest_.starts_with(',') && !begun_) return std::nullopt;
      begun_ = false;
    }
    return out;
  }

 private:
  // Behind a scheme: nothing, one token68, or the first of its parameters.
  bool begin_challenge() {
    if (rest_.empty() || rest_.starts_with(',')) return true;
    if (!is_space(rest_.front())) return false;
    skip_spaces();
    std::string_view before = rest_;
    take(is_token68);
    while (rest_.starts_with('=')) rest_.remove_prefix(1);
    skip_spaces();
    bool is_credential = before.size() > rest_.size() && (rest_.empty() || rest_.starts_with(','));
    if (!is_credential) {
      rest_ = before;
      begun_ = !rest_.empty() && !rest_.starts_with(',');
    }
    return true;
  }

  bool parameter(Parsed& to, std::string name) {
    rest_.remove_prefix(1);
    skip_spaces();
    auto value = rest_.starts_with('"') ? quoted() : std::optional(take(is_token));
    if (!value || to.parameters.size() >= kMostParameters) return false;
    return to.parameters.emplace(std::move(name), std::move(*value)).second;
  }

  std::optional<std::string> quoted() {
    rest_.remove_prefix(1);
    std::string out;
    while (!rest_.empty()) {
      char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return out;
      if (c == '\\') {
        if (rest_.empty()) return std::nullopt;
        c = rest_.front();
        rest_.remove_prefix(1);
      }
      auto byte = static_cast<unsigned char>(c);
      if ((byte < 0x20 && c != '\t') || byte == 0x7f) return std::nullopt;
      out.push_back(c);
    }
    return std::nullopt;
  }

  std::string take(bool (*belongs)(char)) {
    auto end = std::ranges::find_if_not(rest_, belongs);
    std::string out(rest_.begin(), end);
    rest_.remove_prefix(out.size());
    return out;
  }
  void skip_spaces() {
    while (!rest_.empty() && is_space(rest_.front())) rest_.remove_prefix(1);
  }
  void skip_commas() {
    while (!rest_.empty() && (is_space(rest_.front()) || rest_.front() == ',')) {
      rest_.remove_prefix(1);
    }
  }

  std::string_view rest_;
  bool begun_ = false;  // A parameter follows without a comma before it.
};

}  // namespace

std::optional<Scopes> read_scopes(std::string_view text) {
  Scopes out;
  while (!text.empty()) {
    std::size_t end = std::min(text.find(' '), text.size());
    std::string word(text.substr(0, end));
    // Source: RFC 6749, section 3.3, scope-token.
    bool fits = !word.empty() && word.size() <= kScopeBytes &&
                std::ranges::all_of(
                    word, [](char c) { return c >= 0x21 && c <= 0x7e && c != '"' && c != '\\'; });
    if (!fits || out.size() >= kMostScopes) return std::nullopt;
    if (std::ranges::find(out, word) == out.end()) out.push_back(std::move(word));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string write_scopes(const Scopes& scopes) { return fmt::format("{}", fmt::join(scopes, " ")); }

void add_scopes(Scopes& to, const Scopes& more) {
  for (const auto& word : more) {
    if (to.size() < kMostScopes && std::ranges::find(to, word) == to.end()) to.push_back(word);
  }
}

bool has_scopes(const Scopes& all, const Scopes& some) {
  return std::ranges::all_of(
      some, [&](const auto& word) { return std::ranges::find(all, word) != all.end(); });
}

std::optional<Challenge> read_challenge(std::string_view value) {
  if (value.size() > kMostBytes) return std::nullopt;
  auto all = Reader(value).read();
  if (!all) return std::nullopt;
  auto found = std::ranges::find(*all, "bearer", &Parsed::scheme);
  if (found == all->end()) return std::nullopt;
  Challenge out;
  out.resource_metadata = found->parameters["resource_metadata"];
  out.error = found->parameters["error"];
  auto scope = read_scopes(found->parameters["scope"]);
  if (!scope) return std::nullopt;
  out.scope = std::move(*scope);
  return out;
}

}  // namespace tool::login
