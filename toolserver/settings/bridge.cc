#include "toolserver/settings/bridge.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "base/config/file_text.h"
#include "base/config/setting.h"

namespace tool::settings {
namespace {

using base::config::Entry;
using base::config::EntryForm;
using base::config::SettingType;

constexpr std::size_t kMaxBridges = 32;
constexpr std::size_t kMaxItems = 64;
constexpr std::size_t kMaxRules = 256;
constexpr std::size_t kMaxText = 4096;

// The broken rule, or nothing.
using Fault = std::string;

bool is_plain(std::string_view text) {
  return text.size() <= kMaxText && std::ranges::none_of(text, [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

bool is_variable(std::string_view name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && name.size() <= 128 && letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// Source: RFC 9110, section 5.6.2.
bool is_header(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && name.size() <= 128 && std::ranges::all_of(name, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMarks.contains(c);
  });
}

// As the table's settings are read; `out` is what the type gives.
template <class T>
Fault read_as(SettingType type, const Entry& entry, T& out) {
  base::config::Setting setting{"BRIDGE", std::move(type), "", "", "", ""};
  auto value = base::config::parse_setting(setting, entry.text);
  if (!value) return value.error().message();
  out = std::get<T>(*value);
  return {};
}

Fault read_text(const Entry& entry, std::string& out) {
  return read_as(base::config::TextType{}, entry, out);
}

Fault read_path(const Entry& entry, const std::filesystem::path& folder,
                std::filesystem::path& out) {
  std::string text;
  if (auto fault = read_text(entry, text); !fault.empty()) return fault;
  if (text.empty()) return "must not be empty";
  out = text;
  if (out.is_relative()) out = folder / out;
  return {};
}

Fault read_list(const Entry& entry, std::vector<std::string>& out) {
  if (entry.form != EntryForm::kList) return "must be a list";
  if (entry.items.size() > kMaxItems) return "must have at most 64 items";
  if (!std::ranges::all_of(entry.items, is_plain)) return "must have no control characters";
  out = entry.items;
  return {};
}

template <class Enum>
Fault read_word(const Entry& entry, std::initializer_list<std::pair<std::string_view, Enum>> words,
                Enum& out) {
  std::string rule;
  for (auto [word, value] : words) {
    if (entry.text == word) {
      out = value;
      return {};
    }
    rule += fmt::format("{}{}", rule.empty() ? "must be " : " or ", word);
  }
  return rule;
}

Fault read_number(const Entry& entry, std::optional<double>& out) {
  double number = 0;
  const char* end = entry.text.data() + entry.text.size();
  auto [at, ec] = std::from_chars(entry.text.data(), end, number);
  if (ec != std::errc() || at != end || !std::isfinite(number)) return "must be a number";
  out = number;
  return {};
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& folder) : folder_(folder) {}

  void take(const Entry& entry) {
    std::string path;
    for (const auto& part : entry.parts) path += part + '\n';
    if (!seen_.insert(path).second) return report(entry, "is set a second time");
    if (!std::ranges::all_of(entry.parts, is_plain)) {
      return report(entry, "has control characters in a name");
    }
    if (auto fault = take_checked(entry); !fault.empty()) report(entry, fault);
  }

  BridgesRead done() && {
    for (auto& [name, bridge] : bridges_) {
      for (auto& [key, rule] : rules_[name]) bridge.rules.push_back(std::move(rule));
      if (!has_kind_.contains(name)) {
        out_.errors.push_back(
            fmt::format("bridges.{}.kind: must be stdio or http", base::config::shown_key(name)));
      }
      out_.bridges.push_back(std::move(bridge));
    }
    return std::move(out_);
  }

 private:
  void report(const Entry& entry, std::string_view rule) {
    if (out_.errors.size() < 100) out_.errors.push_back(fmt::format("{}: {}", entry.source, rule));
  }

  Fault take_checked(const Entry& entry) {
    if (entry.parts.size() < 3) return "must be a section of its own: [bridges.NAME]";
    const std::string& name = entry.parts[1];
    if (!bridges_.contains(name) && bridges_.size() >= kMaxBridges) {
      return "is one bridge too many: at most 32";
    }
    Bridge& bridge = bridges_[name];
    bridge.name = name;
    if (entry.form == EntryForm::kEmpty) return "must have a value";
    if (entry.parts.size() == 3) return take_key(entry, bridge);
    if (entry.parts.size() == 4) return take_named(entry, bridge);
    if (entry.parts.size() == 6 && entry.parts[2] == "rules") return take_rule(entry, name);
    return "no such setting of a bridge";
  }

  Fault take_key(const Entry& entry, Bridge& bridge) {
    const std::string& key = entry.parts[2];
    if (key == "arguments") return read_list(entry, bridge.arguments);
    if (key == "reads") return read_paths(entry, bridge.reads);
    if (key == "runs") return read_paths(entry, bridge.runs);
    if (key == "writes") return read_paths(entry, bridge.writes);
    if (entry.form != EntryForm::kText) return "must be a string, a number or a boolean";
    if (key == "kind") {
      has_kind_.insert(bridge.name);
      return read_word(entry, {{"stdio", BridgeKind::kStdio}, {"http", BridgeKind::kHttp}},
                       bridge.kind);
    }
    if (key == "command") return read_path(entry, folder_, bridge.command);
    if (key == "folder") return read_path(entry, folder_, bridge.folder);
    if (key == "ca_cert_path") return read_path(entry, folder_, bridge.ca_cert_path);
    if (key == "url") return read_as(base::config::UrlType{}, entry, bridge.url);
    if (key == "first_seen") {
      return read_word(entry,
                       {{"quarantine", FirstSight::kQuarantine}, {"trust", FirstSight::kTrust}},
                       bridge.first_seen);
    }
    if (key == "consent") {
      return read_word(entry,
                       {{"always", ConsentRule::kAlways},
                        {"first", ConsentRule::kFirst},
                        {"never", ConsentRule::kNever}},
                       bridge.consent);
    }
    if (key == "oldest_version") return read_text(entry, bridge.oldest_version);
    if (key == "timeout") return read_timeout(entry, bridge);
    if (key == "network") return read_as(base::config::FlagType{}, entry, bridge.network);
    if (key == "processes") return read_as(base::config::FlagType{}, entry, bridge.processes);
    if (key == "memory") return read_memory(entry, bridge);
    return "no such setting of a bridge";
  }

  static Fault read_timeout(const Entry& entry, Bridge& bridge) {
    std::chrono::microseconds time{};
    auto fault =
        read_as(base::config::DurationType{std::chrono::milliseconds(100), std::chrono::minutes(5)},
                entry, time);
    bridge.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(time);
    return fault;
  }

  static Fault read_memory(const Entry& entry, Bridge& bridge) {
    base::config::Bytes bytes;
    constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
    auto fault = read_as(base::config::BytesType{64 * kMiB, kMiB << 20}, entry, bytes);
    bridge.memory_bytes = bytes.count;
    return fault;
  }

  Fault read_paths(const Entry& entry, std::vector<std::filesystem::path>& out) {
    std::vector<std::string> items;
    if (auto fault = read_list(entry, items); !fault.empty()) return fault;
    for (const auto& item : items) {
      if (item.empty()) return "must not have an empty item";
      std::filesystem::path path(item);
      out.push_back(path.is_relative() ? folder_ / path : path);
    }
    return {};
  }

  Fault take_named(const Entry& entry, Bridge& bridge) {
    const std::string& group = entry.parts[2];
    const std::string& name = entry.parts[3];
    if (entry.form != EntryForm::kText) return "must be a text";
    if (group == "header_files") {
      if (!is_header(name)) return "must be a header's name";
      return read_secret(entry, bridge.headers);
    }
    if (group != "environment" && group != "environment_files") {
      return "no such setting of a bridge";
    }
    if (!is_variable(name)) return "must be a variable's name: letters, digits and '_'";
    if (group == "environment_files") return read_secret(entry, bridge.environment_secrets);
    if (bridge.environment.size() >= kMaxItems) return "is one variable too many: at most 64";
    std::string value;
    if (auto fault = read_text(entry, value); !fault.empty()) return fault;
    bridge.environment.emplace_back(name, std::move(value));
    return {};
  }

  Fault read_secret(const Entry& entry, std::vector<NamedSecret>& out) {
    std::filesystem::path path;
    if (auto fault = read_path(entry, folder_, path); !fault.empty()) return fault;
    if (out.size() >= kMaxItems) return "is one too many: at most 64";
    out_.files.push_back(path);
    auto text = base::config::read_secret_file(path);
    if (!text) return text.error().message();
    if (text->empty() || !is_plain(*text)) return "must hold one line of text";
    out.push_back({entry.parts[3], base::Secret(std::move(*text))});
    return {};
  }

  Fault take_rule(const Entry& entry, const std::string& bridge) {
    std::string key = entry.parts[3] + '\n' + entry.parts[4];
    auto& rules = rules_[bridge];
    if (!rules.contains(key) && rules.size() >= kMaxRules)
      return "is one rule too many: at most 256";
    ArgumentRule& rule = rules[key];
    rule.tool = entry.parts[3];
    rule.argument = entry.parts[4];
    const std::string& part = entry.parts[5];
    if (part == "values") return read_list(entry, rule.values);
    if (entry.form != EntryForm::kText) return "must be a string, a number or a boolean";
    if (part == "within") return read_text(entry, rule.within);
    if (part == "pattern") return read_text(entry, rule.pattern);
    if (part == "min") return read_number(entry, rule.min);
    if (part == "max") return read_number(entry, rule.max);
    if (part == "optional") return read_as(base::config::FlagType{}, entry, rule.is_optional);
    return "no such rule: within, pattern, min, max, values, optional";
  }

  const std::filesystem::path& folder_;
  std::set<std::string> seen_;
  std::map<std::string, Bridge> bridges_;
  std::map<std::string, std::map<std::string, ArgumentRule>> rules_;
  std::set<std::string> has_kind_;
  BridgesRead out_;
};

bool same_secrets(const std::vector<NamedSecret>& a, const std::vector<NamedSecret>& b) {
  return std::ranges::equal(a, b, [](const NamedSecret& one, const NamedSecret& other) {
    return one.name == other.name && one.value.equals(other.value.reveal());
  });
}

bool same_bridge(const Bridge& a, const Bridge& b) {
  return a.name == b.name && a.kind == b.kind && a.command == b.command &&
         a.arguments == b.arguments && a.folder == b.folder && a.environment == b.environment &&
         a.reads == b.reads && a.runs == b.runs && a.writes == b.writes && a.network == b.network &&
         a.processes == b.processes && a.memory_bytes == b.memory_bytes && a.url == b.url &&
         a.ca_cert_path == b.ca_cert_path && a.first_seen == b.first_seen &&
         a.consent == b.consent && a.timeout == b.timeout && a.oldest_version == b.oldest_version &&
         a.rules == b.rules && same_secrets(a.headers, b.headers) &&
         same_secrets(a.environment_secrets, b.environment_secrets);
}

}  // namespace

bool same(const std::vector<Bridge>& a, const std::vector<Bridge>& b) {
  return std::ranges::equal(a, b, same_bridge);
}

BridgesRead read_bridges(const std::vector<Entry>& entries, const std::filesystem::path& folder) {
  Reader reader(folder);
  for (const auto& entry : entries) reader.take(entry);
  return std::move(reader).done();
}

}  // namespace tool::settings
