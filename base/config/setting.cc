#include "base/config/setting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/core/text.h"

namespace base::config {
namespace {

constexpr std::size_t kMaxListBytes = 16'384;

Error rule(std::string text) { return fail(ErrorKind::kInvalid, std::move(text)); }

std::string lower(std::string_view text) {
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

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

double seconds(std::chrono::microseconds time) {
  return std::chrono::duration<double>(time).count();
}

template <class Type>
std::optional<Error> check_text(const Type& type, std::string_view text) {
  if (text.size() > type.max_bytes) {
    return rule(fmt::format("must not be longer than {} bytes", type.max_bytes));
  }
  if (!is_utf8(text) || has_control(text)) return rule("must be UTF-8 without control characters");
  if (type.rule != nullptr) {
    if (auto broken = type.rule(text); !broken.empty()) return rule(std::string(broken));
  }
  return std::nullopt;
}

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};
constexpr std::array kUnits = {
    Unit{"", 1},
    Unit{"b", 1},
    Unit{"kb", 1'000},
    Unit{"mb", 1'000'000},
    Unit{"gb", 1'000'000'000},
    Unit{"tb", 1'000'000'000'000},
    Unit{"kib", std::uint64_t{1} << 10},
    Unit{"mib", std::uint64_t{1} << 20},
    Unit{"gib", std::uint64_t{1} << 30},
    Unit{"tib", std::uint64_t{1} << 40},
};

// The largest unit that gives a whole number.
std::string show_bytes(std::uint64_t count) {
  static constexpr std::array kShown = {
      Unit{"TiB", std::uint64_t{1} << 40}, Unit{"TB", 1'000'000'000'000},
      Unit{"GiB", std::uint64_t{1} << 30}, Unit{"GB", 1'000'000'000},
      Unit{"MiB", std::uint64_t{1} << 20}, Unit{"MB", 1'000'000},
      Unit{"KiB", std::uint64_t{1} << 10}, Unit{"KB", 1'000}};
  for (const auto& unit : kShown) {
    if (count >= unit.factor && count % unit.factor == 0) {
      return fmt::format("{}{}", count / unit.factor, unit.name);
    }
  }
  return std::to_string(count);
}

std::optional<std::uint64_t> read_bytes(std::string_view text) {
  std::uint64_t number = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (ec != std::errc{}) return std::nullopt;
  std::string name = lower(text.substr(static_cast<std::size_t>(end - text.data())));
  const auto* unit = std::ranges::find(kUnits, name, &Unit::name);
  if (unit == kUnits.end() || number > std::numeric_limits<std::uint64_t>::max() / unit->factor) {
    return std::nullopt;
  }
  return number * unit->factor;
}

bool is_host(std::string_view host) {
  if (host.starts_with('[')) {
    if (host.size() < 4 || !host.ends_with(']')) return false;
    return host.substr(1, host.size() - 2).find_first_not_of("0123456789abcdefABCDEF:.") ==
           std::string_view::npos;
  }
  return !host.empty() &&
         host.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") ==
             std::string_view::npos;
}

bool is_url(const std::vector<std::string_view>& schemes, std::string_view text) {
  for (std::string_view scheme : schemes) {
    std::string_view authority = text;
    if (!authority.starts_with(scheme)) continue;
    authority.remove_prefix(scheme.size());
    if (!authority.starts_with("://")) continue;
    authority.remove_prefix(3);
    std::string_view path;
    if (auto slash = authority.find('/'); slash != std::string_view::npos) {
      path = authority.substr(slash);
      authority = authority.substr(0, slash);
    }
    if (path.find_first_of("?#@\\ \"<>") != std::string_view::npos) return false;
    auto colon = authority.rfind(':');
    if (colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos) {
      auto port = parse_int64(authority.substr(colon + 1));
      if (!port || *port < 1 || *port > 65535) return false;
      authority = authority.substr(0, colon);
    }
    return is_host(authority);
  }
  return false;
}

// One overload for each type.
struct Parser {
  const Setting& setting;
  std::string_view text;

  Result<SettingValue> operator()(const TextType& type) const {
    if (auto error = check_text(type, text)) return *error;
    return SettingValue(std::string(text));
  }

  Result<SettingValue> operator()(const SecretType& type) const {
    if (auto error = check_text(type, text)) return *error;
    return SettingValue(Secret(std::string(text)));
  }

  Result<SettingValue> operator()(const IntegerType& type) const {
    auto value = parse_int64(text);
    if (!value || *value < type.min || *value > type.max) {
      return rule("must be an " + describe_type(type));
    }
    return SettingValue(*value);
  }

  Result<SettingValue> operator()(const FlagType& type) const {
    std::string word = lower(text);
    for (std::string_view yes : {"1", "true", "yes", "on"}) {
      if (word == yes) return SettingValue(true);
    }
    for (std::string_view no : {"0", "false", "no", "off"}) {
      if (word == no) return SettingValue(false);
    }
    return rule("must be " + describe_type(type));
  }

  Result<SettingValue> operator()(const DurationType& type) const {
    double value = 0;
    const char* last = text.data() + text.size();
    auto [end, ec] = std::from_chars(text.data(), last, value);
    if (ec != std::errc{} || end != last || !(value >= seconds(type.min)) ||
        !(value <= seconds(type.max))) {
      return rule("must be " + describe_type(type));
    }
    return SettingValue(std::chrono::microseconds(std::llround(value * 1e6)));
  }

  Result<SettingValue> operator()(const BytesType& type) const {
    auto count = read_bytes(text);
    if (!count || *count < type.min || *count > type.max) {
      return rule("must be " + describe_type(type));
    }
    return SettingValue(Bytes{*count});
  }

  Result<SettingValue> operator()(const ChoiceType& type) const {
    std::string word = lower(text);
    if (std::ranges::find(type.words, word) == type.words.end()) {
      return rule("must be " + describe_type(type));
    }
    return SettingValue(std::move(word));
  }

  Result<SettingValue> operator()(const UrlType& type) const {
    if (text.empty() && setting.default_text.empty()) return SettingValue(std::string());
    if (text.size() > 2048 || has_control(text) || !is_utf8(text) || !is_url(type.schemes, text)) {
      std::string what = describe_type(type);
      return rule(fmt::format("must be {} {}", what.starts_with('h') ? "an" : "a", what));
    }
    std::string_view kept = text;
    while (kept.ends_with('/')) kept.remove_suffix(1);
    return SettingValue(std::string(kept));
  }

  Result<SettingValue> operator()(const ListType& type) const {
    if (text.size() > kMaxListBytes)
      return rule(fmt::format("must not be longer than {} bytes", kMaxListBytes));
    std::vector<std::string> items;
    if (trim(text).empty()) return SettingValue(std::move(items));
    std::string_view rest = text;
    for (bool more = true; more;) {
      auto comma = rest.find(',');
      more = comma != std::string_view::npos;
      std::string_view item = trim(rest.substr(0, comma));
      if (more) rest.remove_prefix(comma + 1);
      if (item.empty()) return rule("must have no empty item");
      if (std::ranges::find(items, item) != items.end()) return rule("must not name an item twice");
      if (items.size() == type.max_items) {
        return rule(fmt::format("must not have more than {} items", type.max_items));
      }
      if (auto error = check_text(TextType{type.rule, type.rule_text}, item)) return *error;
      items.emplace_back(item);
    }
    return SettingValue(std::move(items));
  }
};

struct Describer {
  std::string operator()(const TextType& type) const {
    return type.rule_text.empty() ? "text" : fmt::format("text, {}", type.rule_text);
  }
  std::string operator()(const SecretType& type) const {
    return type.rule_text.empty() ? "secret" : fmt::format("secret, {}", type.rule_text);
  }
  std::string operator()(const IntegerType& type) const {
    return fmt::format("integer, {} to {}", type.min, type.max);
  }
  std::string operator()(const FlagType&) const { return "1, true, yes, on or 0, false, no, off"; }
  std::string operator()(const DurationType& type) const {
    return fmt::format("seconds, {} to {}", seconds(type.min), seconds(type.max));
  }
  std::string operator()(const BytesType& type) const {
    return fmt::format("bytes (such as 256MB or 16MiB), {} to {}", show_bytes(type.min),
                       show_bytes(type.max));
  }
  std::string operator()(const ChoiceType& type) const {
    return fmt::format("{}", fmt::join(type.words, " or "));
  }
  std::string operator()(const UrlType& type) const {
    return fmt::format("{} URL without user, query or fragment", fmt::join(type.schemes, " or "));
  }
  std::string operator()(const ListType& type) const {
    std::string_view rule = type.rule_text;
    return fmt::format("list parted by commas{}{}", rule.empty() ? "" : ", each ", rule);
  }
};

}  // namespace

Result<SettingValue> parse_setting(const Setting& setting, std::string_view text) {
  return std::visit(Parser{setting, text}, setting.type);
}

Setting setting_at(std::string_view path, SettingType type, std::string_view default_text,
                   std::string_view section, std::string_view help) {
  return {name_of_path(path), std::move(type), default_text, section, help, path};
}

std::string name_of_path(std::string_view path) {
  std::string out(path);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (c == '.') c = '_';
  }
  return out;
}

std::string to_text(const SettingValue& value) {
  struct Show {
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(bool flag) const { return flag ? "1" : "0"; }
    std::string operator()(std::chrono::microseconds time) const {
      return fmt::format("{}", seconds(time));
    }
    std::string operator()(Bytes bytes) const { return std::to_string(bytes.count); }
    std::string operator()(const Secret& secret) const { return secret.empty() ? "" : "***"; }
    std::string operator()(const std::vector<std::string>& items) const {
      return fmt::format("{}", fmt::join(items, ","));
    }
  };
  return std::visit(Show{}, value);
}

std::string describe_type(const SettingType& type) { return std::visit(Describer{}, type); }

}  // namespace base::config
