#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <map>

#include "toolserver/definition/address_rule.h"
#include "toolserver/definition/read_definitions.h"
#include "toolserver/model/look_alike.h"
#include "toolserver/settings/endpoint.h"
#include "toolserver/settings/validate.h"

namespace tool::settings {
namespace {

constexpr std::int64_t kPatternMemory = 1 << 20;
constexpr std::size_t kPatternBytes = 1024;

// Namespaces of ours, also where a connector is off: its scopes may be granted.
constexpr std::string_view kOwnNames[] = {"sql", "files", "lake", "echo", definition::kSpace};

class Checker {
 public:
  explicit Checker(const SecureConfig& config) : config_(config) {
    for (std::string_view own : kOwnNames) looks_.emplace(look_of(own), own);
  }

  void check(const Bridge& bridge) {
    bridge_ = &bridge;
    check_name();
    bool is_stdio = bridge.kind == BridgeKind::kStdio;
    if (is_stdio) {
      check_program();
    } else {
      check_url();
    }
    const auto& known = kBridgeVersions;
    if (!bridge.oldest_version.empty() &&
        std::ranges::find(known, bridge.oldest_version) == std::end(known)) {
      fault("oldest_version", fmt::format("must be one of {}", fmt::join(known, ", ")));
    }
    for (const auto& rule : bridge.rules) check_rule(rule);
  }

  Findings done() && { return std::move(out_); }

 private:
  void fault(std::string_view member, std::string_view rule) {
    out_.push_back({"bridges", fmt::format("{}.{}: {}", bridge_->name, member, rule)});
  }

  void check_name() {
    if (auto id = ToolId::parse(bridge_->name + ".x"); !id) {
      out_.push_back(
          {"bridges", "a bridge's name must be 1 to 64 of a-z, 0-9, '_' and '-', a letter first"});
      return;
    }
    auto [at, is_new] = looks_.emplace(look_of(bridge_->name), bridge_->name);
    if (is_new) return;
    out_.push_back({"bridges", fmt::format("{}: the name is taken, or looks like {}", bridge_->name,
                                           at->second)});
  }

  void check_program() {
    if (!bridge_->command.is_absolute()) fault("command", "must be the path of a program");
    for (auto [member, is_set] : {std::pair{"url", !bridge_->url.empty()},
                                  {"header_files", !bridge_->headers.empty()},
                                  {"ca_cert_path", !bridge_->ca_cert_path.empty()},
                                  {"login", bridge_->login.has_value()}}) {
      if (is_set) fault(member, "needs kind = http");
    }
  }

  void check_url() {
    for (auto [member, is_set] : {std::pair{"command", !bridge_->command.empty()},
                                  {"arguments", !bridge_->arguments.empty()},
                                  {"folder", !bridge_->folder.empty()},
                                  {"environment", !bridge_->environment.empty()},
                                  {"reads", !bridge_->reads.empty()},
                                  {"runs", !bridge_->runs.empty()},
                                  {"writes", !bridge_->writes.empty()},
                                  {"environment_files", !bridge_->environment_secrets.empty()}}) {
      if (is_set) fault(member, "needs kind = stdio");
    }
    auto endpoint = parse_endpoint(bridge_->url);
    if (!endpoint || (endpoint->scheme != "http" && endpoint->scheme != "https")) {
      fault("url", "must be https://host:port/path, with no user and no query");
    } else if (endpoint->scheme == "http" && !is_loopback(endpoint->host)) {
      fault("url", "must use TLS (https://): plaintext goes to this machine only");
    } else if (endpoint->scheme == "http" && !config_.security.allow_insecure_transit) {
      fault("url",
            "is plaintext: use TLS, or set security.allow_insecure_transit for this machine alone");
    }
    for (const auto& header : bridge_->headers) {
      static constexpr std::string_view kOurs[] = {
          "host",       "content-length", "content-type",   "transfer-encoding",
          "connection", "accept",         "mcp-session-id", "mcp-protocol-version",
          "mcp-method", "mcp-name",       "last-event-id"};
      std::string name = header.name;
      std::ranges::transform(name, name.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      });
      bool is_ours = std::ranges::find(kOurs, name) != std::end(kOurs) ||
                     name.starts_with("mcp-param-") || (bridge_->login && name == "authorization");
      if (is_ours) fault("header_files", header.name + " is set by the bridge itself");
    }
    if (bridge_->login) check_login(*bridge_->login);
  }

  void check_login(const BridgeLogin& login) {
    bool has_credential = !login.client_secret.empty() || !login.private_key.empty();
    if (has_credential && login.client_id.empty()) {
      fault("login", "client_secret_file and private_key_file need client_id");
    }
    // The server names the authorisation server, and could name its own.
    if (!login.client_id.empty() && login.issuer.empty()) fault("login", "client_id needs issuer");
    if (!login.client_secret.empty() && !login.private_key.empty()) {
      fault("login", "must have one of client_secret_file and private_key_file");
    }
    if (login.grant == LoginGrant::kClientCredentials && !has_credential) {
      fault("login", "grant = client_credentials needs client_id and its secret or private key");
    }
    if (!login.client_metadata_url.empty()) {
      auto endpoint = parse_endpoint(login.client_metadata_url);
      if (!endpoint || endpoint->scheme != "https") {
        fault("login.client_metadata_url", "must be https://host/path");
      }
      if (login.redirect_port == 0) {
        fault("login", "client_metadata_url needs redirect_port: its document names the address");
      }
    }
    for (const auto& scope : login.scopes) {
      bool fits = !scope.empty() && scope.size() <= 256 && std::ranges::all_of(scope, [](char c) {
        return c > 0x20 && c < 0x7f && c != '"' && c != '\\';
      });
      if (!fits) fault("login.scopes", "must hold words of a scope");
    }
    for (const auto& network : login.networks) {
      if (!definition::is_network(network)) {
        fault("login.networks", "must hold networks, such as 10.1.0.0/16");
      }
    }
  }

  void check_rule(const ArgumentRule& rule) {
    std::string at = fmt::format("rules.{}.{}", rule.tool, rule.argument);
    if (rule.tool != "*" && !ToolId::parse("x." + rule.tool)) {
      fault(at, "the tool must be named as this service names it, without the bridge, or *");
    }
    if (rule.argument.empty() || rule.argument.size() > 128) fault(at, "must name an argument");
    if (rule.within.empty() && rule.pattern.empty() && !rule.min && !rule.max &&
        rule.values.empty()) {
      fault(at, "must have one of within, pattern, min, max, values");
    }
    if (!rule.within.empty() && rule.within != ".") {
      std::filesystem::path folder(rule.within);
      bool ends_in_slash = rule.within.size() > 1 && rule.within.ends_with('/');
      if (!folder.is_absolute() || ends_in_slash ||
          folder.lexically_normal().native() != folder.native()) {
        fault(at + ".within",
              "must be an absolute path without '.', '..' and '/' at its end, or .");
      }
    }
    if (rule.min && rule.max && *rule.min > *rule.max) fault(at, "min must not be over max");
    if (!rule.pattern.empty()) check_pattern(at + ".pattern", rule.pattern);
  }

  void check_pattern(const std::string& at, const std::string& pattern) {
    if (pattern.size() > kPatternBytes) return fault(at, "must have at most 1024 bytes");
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(kPatternMemory);
    if (!RE2(pattern, options).ok()) fault(at, "must be a pattern that RE2 takes");
  }

  const SecureConfig& config_;
  const Bridge* bridge_ = nullptr;
  std::map<std::string, std::string> looks_;
  Findings out_;
};

}  // namespace

Findings check_bridges(const SecureConfig& config, Role role) {
  if (role == Role::kClient) return {};
  Checker checker(config);
  for (const auto& bridge : config.bridges) checker.check(bridge);
  return std::move(checker).done();
}

}  // namespace tool::settings
