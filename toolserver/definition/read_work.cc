#include "toolserver/definition/read_work.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/config/file_text.h"
#include "base/http/client.h"
#include "base/json/pointer.h"
#include "toolserver/definition/address_rule.h"
#include "toolserver/definition/keys.h"

namespace tool::definition {
namespace {

using base::json::Object;
using Kind = Template::Part::Kind;

constexpr std::size_t kMaxPath = 4'096;
constexpr std::size_t kMaxArguments = 64;
constexpr std::size_t kMaxSecrets = 16;
constexpr std::size_t kMaxFields = 64;

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

bool has_secret(const std::vector<NamedSecret>& secrets, std::string_view name) {
  return std::ranges::find(secrets, name, &NamedSecret::name) != secrets.end();
}

// What a template may name.
enum class Allows : std::uint8_t { kArguments, kArgumentsAndSecrets, kRequiredArguments };

class Places {
 public:
  Places(Section& tool, const ToolDefinition& definition) : tool_(tool), definition_(definition) {}

  // Reports what `text` must not be.
  Template parse(std::string_view key, std::string_view text, Allows allows) {
    auto parsed = Template::parse(text);
    if (!parsed) {
      tool_.fault(key, parsed.error().message());
      return {};
    }
    for (const auto& part : parsed->parts()) check(key, part, allows);
    return std::move(*parsed);
  }

  Payload payload(std::string_view key) {
    std::string text = tool_.has(key) ? tool_.text(key, kMaxPath) : "none";
    if (text == "none") return {};
    if (text == "json") return {Payload::Kind::kArguments, {}};
    auto parsed = Template::parse(text);
    if (!parsed || parsed->parts().size() != 1 || !parsed->begins_with_argument()) {
      tool_.fault(key, "must be none, json or one {argument}");
      return {};
    }
    std::string name = parsed->parts().front().text;
    if (schema_of(name) == nullptr) tool_.fault(key, missing(name));
    return {Payload::Kind::kArgument, std::move(name)};
  }

  std::vector<NamedTemplate> fields(std::string_view key, Allows allows) {
    const Object* section = tool_.section(key);
    if (section == nullptr) return {};
    std::vector<NamedTemplate> out;
    if (section->size() > kMaxFields) tool_.fault(key, "must have at most 64");
    for (const auto& member : *section) {
      std::string path = fmt::format("{}.{}", key, std::string_view(member.key()));
      if (!member.value().is_string()) {
        tool_.fault(path, "must be a text");
        continue;
      }
      out.emplace_back(std::string(member.key()), parse(path, member.value().get_string(), allows));
    }
    return out;
  }

 private:
  [[nodiscard]] const Object* schema_of(std::string_view name) const {
    const auto& properties = definition_.capability.input_schema.at("properties").get_object();
    const auto* found = properties.if_contains(boost::json::string_view(name.data(), name.size()));
    return found == nullptr ? nullptr : &found->get_object();
  }
  [[nodiscard]] bool is_required(std::string_view name) const {
    return std::ranges::any_of(
        definition_.capability.input_schema.at("required").get_array(),
        [&](const auto& one) { return std::string_view(one.get_string()) == name; });
  }
  static std::string missing(std::string_view name) {
    return fmt::format("names {}, which is no parameter", name);
  }

  void check(std::string_view key, const Template::Part& part, Allows allows) {
    if (part.kind == Kind::kText) return;
    if (part.kind == Kind::kSecret) {
      bool known = has_secret(definition_.secrets, part.text);
      if (allows != Allows::kArgumentsAndSecrets) {
        tool_.fault(key, "must hold no secret: others can see it there");
      } else if (!known) {
        tool_.fault(key, fmt::format("names secret.{}, which is not among the secrets", part.text));
      }
      return;
    }
    const Object* schema = schema_of(part.text);
    if (schema == nullptr) {
      tool_.fault(key, missing(part.text));
      return;
    }
    static constexpr std::array<std::string_view, 4> kScalars = {"string", "integer", "number",
                                                                 "boolean"};
    const auto* type = schema->if_contains("type");
    if (type == nullptr || !type->is_string() ||
        std::ranges::find(kScalars, std::string_view(type->get_string())) == kScalars.end()) {
      tool_.fault(key, fmt::format("parameters.{} must be of type string, integer, number or "
                                   "boolean to stand here",
                                   part.text));
    }
    if (allows == Allows::kRequiredArguments && !is_required(part.text)) {
      tool_.fault(key, fmt::format("parameters.{} must not be optional to stand here", part.text));
    }
  }

  Section& tool_;
  const ToolDefinition& definition_;
};

// The broken rule, if any. Who may write a program says what it does.
std::optional<std::string_view> program_rule(const std::string& path) {
  struct stat facts{};
  if (!path.starts_with('/')) return "must be an absolute path";
  if (::stat(path.c_str(), &facts) != 0) return "must name a file that exists";
  if (!S_ISREG(facts.st_mode)) return "must name a regular file";
  if (::access(path.c_str(), X_OK) != 0) return "must name a file that can be run";
  if (facts.st_uid != ::geteuid() && facts.st_uid != 0) {
    return "must be a file of this user or of root";
  }
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "must not be open to be written by others";
  return std::nullopt;
}

bool is_folder(const std::string& path) {
  struct stat facts{};
  return ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

std::string resolved(const std::string& path, const ReadOptions& options) {
  return path.empty() ? path : (options.folder / path).lexically_normal().string();
}

bool is_variable_name(std::string_view name) { return is_place_name(name) && !name.contains('-'); }

CommandWork read_command(Section& tool, Places& places, const ReadOptions& options) {
  tool.only({kCommonKeys, kCommandKeys});
  CommandWork work;
  work.program = tool.required("program", kMaxPath);
  if (!work.program.empty()) {
    if (auto rule = program_rule(work.program)) tool.fault("program", *rule);
  }
  for (const auto& text : tool.texts("arguments", kMaxArguments)) {
    work.arguments.push_back(places.parse("arguments", text, Allows::kArguments));
  }
  work.input = places.payload("input");
  work.environment = places.fields("environment", Allows::kArgumentsAndSecrets);
  for (const auto& [name, value] : work.environment) {
    if (!is_variable_name(name)) {
      tool.fault("environment." + name, "a variable has letters, digits and '_', no digit first");
    }
  }
  std::string folder = tool.text("folder", kMaxPath);
  work.folder = folder.empty() ? "/" : resolved(folder, options);
  if (!is_folder(work.folder)) tool.fault("folder", "must name a folder that exists");
  work.ok_codes = tool.integers("ok_codes", 0, 255, 16);
  if (work.ok_codes.empty()) work.ok_codes = {0};
  bool show = std::get<std::string>(tool.value("stderr", base::config::ChoiceType{{"hide", "show"}},
                                               "hide")) == "show";
  work.errors = show ? ErrorOutput::kShow : ErrorOutput::kHide;
  return work;
}

bool is_header_name(std::string_view name) {
  static constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMarks.contains(c);
  });
}

// Fields by which a request ends elsewhere, or goes elsewhere, than it says.
bool is_framing(std::string_view name) {
  static constexpr std::array<std::string_view, 10> kNames = {
      "Host",    "Content-Length", "Transfer-Encoding",   "Connection", "Upgrade", "TE",
      "Trailer", "Expect",         "Proxy-Authorization", "Keep-Alive"};
  return std::ranges::any_of(kNames, [&](auto one) { return equals_ignoring_case(one, name); });
}

void read_url(Section& tool, Places& places, HttpWork& work) {
  std::string url = tool.required("url", kMaxPath);
  if (url.empty()) return;
  std::size_t scheme = url.find("://");
  std::size_t path = scheme == std::string::npos ? scheme : url.find('/', scheme + 3);
  work.origin = url.substr(0, path);
  auto origin = base::http::Origin::parse(work.origin);
  if (!origin) {
    tool.fault("url",
               "must be https://host/path or https://host:port/path; no part of the host "
               "comes from a call");
    return;
  }
  if (!origin->encrypted && !is_loopback_name(origin->host)) {
    tool.fault("url", "must be https, but on this machine");
  }
  std::string target = path == std::string::npos ? "/" : url.substr(path);
  bool plain = std::ranges::all_of(target, [](unsigned char c) {
    return c > 0x20 && c < 0x7f && c != '?' && c != '#' && c != '\\';
  });
  if (!plain) tool.fault("url", "must have no blank, '?' or '#'; use query, and %20 for a blank");
  work.path = places.parse("url", target, Allows::kRequiredArguments);
}

HttpWork read_http(Section& tool, Places& places, const ReadOptions& options) {
  tool.only({kCommonKeys, kHttpKeys});
  HttpWork work;
  auto method = std::get<std::string>(tool.value(
      "method", base::config::ChoiceType{{"get", "head", "post", "put", "delete"}}, "get"));
  std::ranges::transform(method, method.begin(), [](char c) { return static_cast<char>(c - 32); });
  work.method = base::http::parse_method(method);
  read_url(tool, places, work);
  work.query = places.fields("query", Allows::kArguments);
  work.headers = places.fields("headers", Allows::kArgumentsAndSecrets);
  for (const auto& [name, value] : work.headers) {
    if (!is_header_name(name)) tool.fault("headers." + name, "is no name of a header");
    if (is_framing(name)) tool.fault("headers." + name, "is set by the service alone");
  }
  work.body = places.payload("body");
  if (work.body.kind != Payload::Kind::kNone && work.method != base::http::Method::kPost &&
      work.method != base::http::Method::kPut) {
    tool.fault("body", "goes with POST and PUT");
  }
  work.networks = tool.texts("networks", 32);
  for (const auto& network : work.networks) {
    if (!is_network(network)) tool.fault("networks", "must be networks, such as 10.1.0.0/16");
  }
  work.ca_file = resolved(tool.text("ca_file", kMaxPath), options);
  if (!work.ca_file.empty() && ::access(work.ca_file.c_str(), R_OK) != 0) {
    tool.fault("ca_file", "must name a file that can be read");
  }
  work.pointer = tool.text("pointer", kMaxPath);
  if (!base::json::is_pointer(work.pointer)) {
    tool.fault("pointer", "must be empty or a JSON Pointer, as /result/0");
  }
  return work;
}

std::optional<std::string> from_environment(const ReadOptions& options, const std::string& name) {
  for (const std::string& entry : options.environment) {
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return entry.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

base::Result<std::string> secret_text(std::string_view kind, const std::string& where,
                                      const ReadOptions& options,
                                      std::vector<std::filesystem::path>& files) {
  if (kind == "_env") {
    auto value = from_environment(options, where);
    if (value) return std::move(*value);
    return base::fail(base::ErrorKind::kInvalid, "the variable is not set");
  }
  files.push_back(options.folder / where);
  return base::config::read_secret_file(options.folder / where);
}

}  // namespace

std::vector<NamedSecret> read_secrets(Section& tool, const ReadOptions& options,
                                      std::vector<std::filesystem::path>& files) {
  std::vector<NamedSecret> out;
  const Object* section = tool.section("secrets");
  if (section == nullptr) return out;
  if (section->size() > kMaxSecrets) tool.fault("secrets", "must be at most 16");
  for (const auto& member : *section) {
    std::string_view key = member.key();
    std::string path = fmt::format("secrets.{}", key);
    std::string_view kind = key.ends_with("_file") ? "_file" : key.ends_with("_env") ? "_env" : "";
    std::string_view name = key.substr(0, key.size() - kind.size());
    if (kind.empty() || !is_place_name(name)) {
      tool.fault(path, "must be NAME_file, the file that holds it, or NAME_env, a variable");
    } else if (!member.value().is_string() || member.value().get_string().empty()) {
      tool.fault(path, "must be a text");
    } else if (has_secret(out, name)) {
      tool.fault(path, "is the same secret a second time");
    } else {
      auto text = secret_text(kind, std::string(member.value().get_string()), options, files);
      if (!text) {
        tool.fault(path, text.error().message());
        continue;
      }
      std::string_view rule = text->empty() ? "must not be empty" : "";
      if (rule.empty() && options.secret_rule != nullptr) rule = options.secret_rule(*text);
      if (!rule.empty()) tool.fault(path, rule);
      out.push_back({std::string(name), base::Secret(std::move(*text))});
    }
  }
  return out;
}

bool read_work(Section& tool, ToolDefinition& definition, const ReadOptions& options) {
  std::string kind = tool.required("kind", 16);
  Places places(tool, definition);
  if (kind == "command") {
    definition.work = read_command(tool, places, options);
    return true;
  }
  if (kind == "http") {
    definition.work = read_http(tool, places, options);
    return true;
  }
  if (!kind.empty()) tool.fault("kind", "must be command or http");
  return false;
}

}  // namespace tool::definition
