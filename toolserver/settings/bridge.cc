#include "toolserver/settings/bridge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/config/file_text.h"
#include "base/config/setting.h"
#include "base/config/sources.h"
#include "toolserver/definition/section.h"

namespace tool::settings {
namespace {

using base::config::ChoiceType;
using base::json::Object;
using definition::Faults;
using definition::Key;
using definition::Section;
using std::filesystem::path;

constexpr std::size_t kMaxBridges = 32;
constexpr std::size_t kMaxItems = 64;
constexpr std::size_t kMaxRules = 256;
constexpr std::size_t kMaxText = 4096;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

constexpr std::array kCommonKeys = {
    Key{"kind", "stdio or http", "", "A program that the service starts, or a server at a URL."},
    Key{"offers", "list of tools, resources and prompts", "[\"tools\"]",
        "What of the server callers are offered; resources and prompts to MCP clients alone."},
    Key{"first_seen", "quarantine or trust", "quarantine",
        "trust approves what the server offers when it is seen for the first time."},
    Key{"consent", "never, first or always", "always",
        "Whether a person is asked before a call of its tools, a read or a prompt."},
    Key{"timeout", "seconds, 0.1 to 300", "60", "Time of one request to the server."},
    Key{"oldest_version", "2025-03-26, 2025-06-18, 2025-11-25 or 2026-07-28", "2025-03-26",
        "The oldest revision of MCP that is spoken."},
    Key{"rules", "section of sections", "",
        "`rules.TOOL.ARGUMENT`: what an argument must be; `\"*\"` for all tools."},
};

constexpr std::array kProgramKeys = {
    Key{"command", "path", "", "The program. Required; nobody else may write it."},
    Key{"arguments", "list of texts", "[]", "Its words."},
    Key{"folder", "path", "/", "Where it runs."},
    Key{"environment", "section of texts", "", "Its variables; nothing else is handed on."},
    Key{"environment_files", "section of paths", "",
        "Variables whose values stand in files, closed to others."},
    Key{"reads", "list of paths", "[]", "Files and folders that it may read."},
    Key{"runs", "list of paths", "[]", "The same, with programs that it may start."},
    Key{"writes", "list of paths", "[]", "Files and folders that it may change."},
    Key{"network", "boolean", "false", "Whether it may connect."},
    Key{"processes", "boolean", "false", "Whether it may start programs."},
    Key{"memory", "bytes, 64MiB to 1TiB", "4GiB", "Address space of each of its processes."},
};

constexpr std::array kServerKeys = {
    Key{"url", "URL", "", "Required; plaintext to this machine alone."},
    Key{"ca_cert_path", "path", "", "Certificates to trust in place of the system's."},
    Key{"header_files", "section of paths", "",
        "Headers whose values stand in files, closed to others."},
    Key{"login", "section", "", "The server asks for a login; it may be empty."},
};

constexpr std::array kLoginKeys = {
    Key{"grant", "authorization_code or client_credentials", "authorization_code",
        "Who is signed in: a person, by `securetool bridges login NAME`, or the service itself."},
    Key{"client_id", "text", "",
        "The service as the authorisation server knows it. Needs issuer, as the next two do. "
        "Without it, it is registered."},
    Key{"client_secret_file", "path", "", "Its secret, in a file closed to others."},
    Key{"private_key_file", "path", "",
        "A private key (PEM) to sign with in place of a secret, in a file closed to others."},
    Key{"client_metadata_url", "URL", "",
        "Where you publish the client's metadata; its id where the server takes such."},
    Key{"issuer", "URL", "", "The only authorisation server that is taken, to the letter."},
    Key{"scopes", "list of texts", "[]", "Asked for besides those that the server names."},
    Key{"networks", "list of networks", "[]",
        "Private networks that the authorisation server may be in, such as 10.1.0.0/16."},
    Key{"redirect_port", "0 to 65535", "0",
        "Port of 127.0.0.1 that a browser is sent back to; 0 takes a free one."},
};

constexpr std::array kRuleKeys = {
    Key{"within", "absolute path, or .", "", "It is a path in that folder."},
    Key{"pattern", "pattern of RE2", "", "It matches as a whole."},
    Key{"min", "number", "", "It is a number, and at least this."},
    Key{"max", "number", "", "It is a number, and at most this."},
    Key{"values", "list of texts", "", "It is one of these; a number as JSON writes it."},
    Key{"optional", "boolean", "false", "It may be left out."},
};

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

bool is_one_line(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

std::optional<double> number(Section& rule, std::string_view key) {
  const auto* value = rule.table().if_contains(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) return value->to_number<double>();
  rule.fault(key, "must be a number");
  return std::nullopt;
}

std::string choice(Section& section, std::string_view key, std::vector<std::string_view> words,
                   std::string_view standard) {
  return std::get<std::string>(section.value(key, ChoiceType{std::move(words)}, standard));
}

// Reads one bridge. Borrows all.
class Reader {
 public:
  Reader(Section& section, const path& folder, std::string_view (*secret_rule)(std::string_view),
         Faults& faults, std::vector<path>& files)
      : section_(section),
        folder_(folder),
        secret_rule_(secret_rule),
        faults_(faults),
        files_(files) {}

  Bridge read(std::string_view name) {
    section_.only({kCommonKeys, kProgramKeys, kServerKeys});
    Bridge bridge;
    bridge.name = name;
    if (!section_.has("kind")) section_.fault("kind", "must be stdio or http");
    bridge.kind = choice(section_, "kind", {"stdio", "http"}, "stdio") == "http"
                      ? BridgeKind::kHttp
                      : BridgeKind::kStdio;
    if (section_.has("offers")) bridge.offers = read_offers();
    if (choice(section_, "first_seen", {"quarantine", "trust"}, "quarantine") == "trust") {
      bridge.first_seen = FirstSight::kTrust;
    }
    std::string consent = choice(section_, "consent", {"always", "first", "never"}, "always");
    bridge.consent = consent == "never"   ? ConsentRule::kNever
                     : consent == "first" ? ConsentRule::kFirst
                                          : ConsentRule::kAlways;
    bridge.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::get<std::chrono::microseconds>(section_.value(
            "timeout",
            base::config::DurationType{std::chrono::milliseconds(100), std::chrono::minutes(5)},
            "60")));
    bridge.oldest_version = section_.text("oldest_version", kMaxText);
    read_program(bridge);
    read_server(bridge);
    read_rules(bridge);
    return bridge;
  }

 private:
  BridgeOffers read_offers() {
    BridgeOffers out{.tools = false};
    auto words = section_.texts("offers", kMaxItems);
    for (const auto& word : words) {
      bool* offer = word == "tools"       ? &out.tools
                    : word == "resources" ? &out.resources
                    : word == "prompts"   ? &out.prompts
                                          : nullptr;
      if (offer == nullptr || std::exchange(*offer, true)) {
        section_.fault("offers", "must hold tools, resources and prompts, each once at most");
        return out;
      }
    }
    if (words.empty()) section_.fault("offers", "must name one of tools, resources and prompts");
    return out;
  }

  void read_program(Bridge& bridge) {
    bridge.command = place("command");
    bridge.arguments = section_.texts("arguments", kMaxItems);
    bridge.folder = place("folder");
    bridge.reads = places("reads");
    bridge.runs = places("runs");
    bridge.writes = places("writes");
    bridge.network = section_.flag("network", false);
    bridge.processes = section_.flag("processes", false);
    bridge.memory_bytes =
        std::get<base::config::Bytes>(
            section_.value("memory", base::config::BytesType{64 * kMiB, kMiB << 20}, "4GiB"))
            .count;
    for (const auto& [name, value] : named("environment", is_variable, "a variable")) {
      bridge.environment.emplace_back(name, value);
    }
    bridge.environment_secrets = secrets("environment_files", is_variable, "a variable");
  }

  void read_server(Bridge& bridge) {
    if (section_.has("url")) {
      bridge.url = std::get<std::string>(section_.value("url", base::config::UrlType{}, ""));
    }
    bridge.ca_cert_path = place("ca_cert_path");
    bridge.headers = secrets("header_files", is_header, "a header");
    const Object* login = section_.section("login");
    if (login == nullptr) return;
    Section one(*login, path_of("login"), faults_);
    bridge.login = read_login(one);
  }

  BridgeLogin read_login(Section& login) {
    login.only({kLoginKeys});
    BridgeLogin out;
    if (choice(login, "grant", {"authorization_code", "client_credentials"},
               "authorization_code") == "client_credentials") {
      out.grant = LoginGrant::kClientCredentials;
    }
    out.client_id = login.text("client_id", kMaxText);
    out.client_secret = secret_at(login, "client_secret_file");
    out.private_key = secret_at(login, "private_key_file");
    out.client_metadata_url = login.text("client_metadata_url", kMaxText);
    out.issuer = login.text("issuer", kMaxText);
    out.scopes = login.texts("scopes", kMaxItems);
    out.networks = login.texts("networks", kMaxItems);
    out.redirect_port = static_cast<std::uint16_t>(std::get<std::int64_t>(
        login.value("redirect_port", base::config::IntegerType{0, 65535}, "0")));
    return out;
  }

  // The text of a file that the section names.
  base::Secret secret_at(Section& section, std::string_view key) {
    if (!section.has(key)) return {};
    std::string where = section.required(key, kMaxText);
    if (where.empty()) return {};
    path file = resolved(where);
    files_.push_back(file);
    auto text = base::config::read_secret_file(file);
    if (text && text->empty()) section.fault(key, "must name a file that is not empty");
    if (!text) {
      section.fault(key, text.error().message());
      return {};
    }
    return base::Secret(std::move(*text));
  }

  path resolved(const std::string& text) const {
    path out(text);
    return out.is_relative() ? folder_ / out : out;
  }
  path place(std::string_view key) {
    if (!section_.has(key)) return {};
    std::string text = section_.required(key, kMaxText);
    return text.empty() ? path() : resolved(text);
  }
  std::vector<path> places(std::string_view key) {
    std::vector<path> out;
    for (const auto& text : section_.texts(key, kMaxItems)) {
      if (text.empty() || !is_one_line(text)) section_.fault(key, "must hold paths");
      out.push_back(resolved(text));
    }
    return out;
  }

  // Names of the operator's with a text for each.
  std::vector<std::pair<std::string, std::string>> named(std::string_view key,
                                                         bool (*is_name)(std::string_view),
                                                         std::string_view what) {
    std::vector<std::pair<std::string, std::string>> out;
    const Object* table = section_.section(key);
    if (table == nullptr) return out;
    if (table->size() > kMaxItems) section_.fault(key, "must have at most 64");
    Section texts(*table, path_of(key), faults_);
    for (const auto& member : *table) {
      std::string_view name = member.key();
      if (!is_name(name)) {
        texts.fault(name, fmt::format("must be the name of {}", what));
      } else {
        out.emplace_back(name, texts.text(name, kMaxText));
      }
    }
    return out;
  }

  std::vector<NamedSecret> secrets(std::string_view key, bool (*is_name)(std::string_view),
                                   std::string_view what) {
    std::vector<NamedSecret> out;
    for (const auto& [name, where] : named(key, is_name, what)) {
      std::string at = fmt::format("{}.{}", key, name);
      if (where.empty()) {
        section_.fault(at, "must name a file");
        continue;
      }
      path file = resolved(where);
      files_.push_back(file);
      auto text = base::config::read_secret_file(file);
      if (!text) {
        section_.fault(at, text.error().message());
        continue;
      }
      std::string_view rule =
          text->empty() || !is_one_line(*text) ? "must hold one line of text" : secret_rule_(*text);
      if (!rule.empty()) section_.fault(at, rule);
      out.push_back({name, base::Secret(std::move(*text))});
    }
    return out;
  }

  void read_rules(Bridge& bridge) {
    const Object* tools = section_.section("rules");
    if (tools == nullptr) return;
    Section all(*tools, path_of("rules"), faults_);
    for (const auto& tool : *tools) {
      const Object* arguments = all.section(tool.key());
      if (arguments == nullptr) continue;
      Section of_tool(*arguments,
                      fmt::format("{}.{}", all.path(), base::config::shown_key(tool.key())),
                      faults_);
      for (const auto& argument : *arguments) {
        const Object* rule = of_tool.section(argument.key());
        if (rule == nullptr) continue;
        if (bridge.rules.size() >= kMaxRules) {
          section_.fault("rules", "must be at most 256");
          return;
        }
        Section one(*rule,
                    fmt::format("{}.{}", of_tool.path(), base::config::shown_key(argument.key())),
                    faults_);
        bridge.rules.push_back(read_rule(one, tool.key(), argument.key()));
      }
    }
  }

  static ArgumentRule read_rule(Section& rule, std::string_view tool, std::string_view argument) {
    rule.only({kRuleKeys});
    return {.tool = std::string(tool),
            .argument = std::string(argument),
            .within = rule.text("within", kMaxText),
            .pattern = rule.text("pattern", kMaxText),
            .min = number(rule, "min"),
            .max = number(rule, "max"),
            .values = rule.texts("values", kMaxItems),
            .is_optional = rule.flag("optional", false)};
  }

  std::string path_of(std::string_view key) const {
    return fmt::format("{}.{}", section_.path(), key);
  }

  Section& section_;
  const path& folder_;
  std::string_view (*secret_rule_)(std::string_view);
  Faults& faults_;
  std::vector<path>& files_;
};

bool same_secrets(const std::vector<NamedSecret>& a, const std::vector<NamedSecret>& b) {
  return std::ranges::equal(a, b, [](const NamedSecret& one, const NamedSecret& other) {
    return one.name == other.name && one.value.equals(other.value.reveal());
  });
}

bool same_login(const std::optional<BridgeLogin>& a, const std::optional<BridgeLogin>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->grant == b->grant && a->client_id == b->client_id &&
         a->client_secret.equals(b->client_secret.reveal()) &&
         a->private_key.equals(b->private_key.reveal()) &&
         a->client_metadata_url == b->client_metadata_url && a->issuer == b->issuer &&
         a->scopes == b->scopes && a->networks == b->networks &&
         a->redirect_port == b->redirect_port;
}

bool same_bridge(const Bridge& a, const Bridge& b) {
  return a.name == b.name && a.kind == b.kind && a.command == b.command &&
         a.arguments == b.arguments && a.folder == b.folder && a.environment == b.environment &&
         a.reads == b.reads && a.runs == b.runs && a.writes == b.writes && a.network == b.network &&
         a.processes == b.processes && a.memory_bytes == b.memory_bytes && a.url == b.url &&
         a.ca_cert_path == b.ca_cert_path && a.offers == b.offers && a.first_seen == b.first_seen &&
         a.consent == b.consent && a.timeout == b.timeout && a.oldest_version == b.oldest_version &&
         a.rules == b.rules && same_login(a.login, b.login) && same_secrets(a.headers, b.headers) &&
         same_secrets(a.environment_secrets, b.environment_secrets);
}

}  // namespace

bool same(const std::vector<Bridge>& a, const std::vector<Bridge>& b) {
  return std::ranges::equal(a, b, same_bridge);
}

BridgesRead read_bridges(const Object& section, const path& folder,
                         std::string_view (*secret_rule)(std::string_view)) {
  BridgesRead out;
  Faults faults;
  Section all(section, std::string(kBridges), faults);
  if (section.size() > kMaxBridges) faults.add("bridges: must be at most 32");
  for (const auto& member : section) {
    std::string_view name = member.key();
    if (!ToolId::parse(fmt::format("{}.x", name))) {
      all.fault(name, "a bridge's name has 1 to 64 of a-z, 0-9, '_' and '-', a letter first");
    } else if (!member.value().is_object()) {
      all.fault(name, "must be a section: [bridges.NAME]");
    } else if (out.bridges.size() < kMaxBridges) {
      Section one(member.value().get_object(), fmt::format("{}.{}", kBridges, name), faults);
      std::size_t before = faults.size();
      Bridge bridge = Reader(one, folder, secret_rule, faults, out.files).read(name);
      if (faults.size() == before) out.bridges.push_back(std::move(bridge));
    }
  }
  out.faults = std::move(faults).take();
  // JSON keeps members in the order of the file.
  std::ranges::sort(out.bridges, {}, &Bridge::name);
  return out;
}

std::string bridges_markdown() {
  std::string out =
      "\n## Foreign MCP servers\n\n"
      "Sections of a TOML file, one for each server: the tools of `[bridges.NAME]` are "
      "`NAME.TOOL`. "
      "They are no settings: the\nenvironment and YAML files cannot hold them. "
      "[tools/bridge.md](tools/bridge.md) shows how they are used. A change takes a restart.\n";
  return out + definition::key_table("Every bridge", kCommonKeys) +
         definition::key_table("kind = \"stdio\"", kProgramKeys) +
         definition::key_table("kind = \"http\"", kServerKeys) +
         definition::key_table("login", kLoginKeys) +
         definition::key_table("rules.TOOL.ARGUMENT", kRuleKeys);
}

}  // namespace tool::settings
