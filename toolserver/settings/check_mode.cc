#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "toolserver/settings/bind.h"
#include "toolserver/settings/validate.h"

namespace tool::settings {
namespace {

// When a setting must be there.
enum class When : std::uint8_t {
  kAlways,
  kHs256,  // jwt_algorithm HS256
  kRs256,  // jwt_algorithm RS256
  kNoKey,  // The server is not known by a node key
};

enum class Who : std::uint8_t { kServer, kClient, kBoth };

struct Need {
  Mode mode;
  Who who;
  std::string_view setting;
  When when;
};

// The settings of the table below, by name.
struct Member {
  std::string_view setting;
  bool (*empty)(const SecureConfig& config);
};

#define SETTINGS_EMPTY(member) [](const SecureConfig& config) { return config.member.empty(); }
constexpr auto kMembers = std::to_array<Member>({
    {"node_id", SETTINGS_EMPTY(core.node_id)},
    {"api_key", SETTINGS_EMPTY(core.api_key)},
    {"secret_key", SETTINGS_EMPTY(core.secret_key)},
    {"jwt_secret", SETTINGS_EMPTY(core.jwt_secret)},
    {"kdf_salt", SETTINGS_EMPTY(core.kdf_salt)},
    {"security.jwt_private_key_path", SETTINGS_EMPTY(security.jwt_private_key_path)},
    {"oauth2.audience", SETTINGS_EMPTY(oauth2.audience)},
    {"oauth2.issuer", SETTINGS_EMPTY(oauth2.issuer)},
    {"oauth2.client_id", SETTINGS_EMPTY(oauth2.client_id)},
    {"oauth2.client_secret", SETTINGS_EMPTY(oauth2.client_secret)},
    {"oauth2.token_url", SETTINGS_EMPTY(oauth2.token_url)},
});
#undef SETTINGS_EMPTY

// Which mode needs what. docs/tool-configuration.md shows this table.
constexpr auto kNeeds = std::to_array<Need>({
    {Mode::kSimple, Who::kBoth, "api_key", When::kAlways},
    {Mode::kSimple, Who::kServer, "jwt_secret", When::kHs256},
    {Mode::kSimple, Who::kServer, "security.jwt_private_key_path", When::kRs256},

    {Mode::kBasic, Who::kServer, "node_id", When::kAlways},
    {Mode::kBasic, Who::kBoth, "secret_key", When::kNoKey},
    {Mode::kBasic, Who::kServer, "kdf_salt", When::kAlways},
    {Mode::kBasic, Who::kClient, "kdf_salt", When::kNoKey},
    {Mode::kBasic, Who::kServer, "jwt_secret", When::kHs256},
    {Mode::kBasic, Who::kServer, "security.jwt_private_key_path", When::kRs256},

    {Mode::kEncrypted, Who::kServer, "node_id", When::kAlways},
    {Mode::kEncrypted, Who::kBoth, "secret_key", When::kNoKey},
    {Mode::kEncrypted, Who::kServer, "kdf_salt", When::kAlways},
    {Mode::kEncrypted, Who::kClient, "kdf_salt", When::kNoKey},
    {Mode::kEncrypted, Who::kServer, "jwt_secret", When::kHs256},
    {Mode::kEncrypted, Who::kServer, "security.jwt_private_key_path", When::kRs256},

    {Mode::kEnterprise, Who::kServer, "node_id", When::kAlways},
    {Mode::kEnterprise, Who::kServer, "secret_key", When::kNoKey},
    {Mode::kEnterprise, Who::kServer, "kdf_salt", When::kAlways},
    {Mode::kEnterprise, Who::kServer, "jwt_secret", When::kHs256},
    {Mode::kEnterprise, Who::kServer, "security.jwt_private_key_path", When::kRs256},
    {Mode::kEnterprise, Who::kBoth, "oauth2.audience", When::kAlways},
    {Mode::kEnterprise, Who::kBoth, "oauth2.issuer", When::kAlways},
    {Mode::kEnterprise, Who::kClient, "oauth2.client_id", When::kAlways},
    {Mode::kEnterprise, Who::kClient, "oauth2.client_secret", When::kAlways},
    {Mode::kEnterprise, Who::kClient, "oauth2.token_url", When::kAlways},
});

std::string_view words(When when) {
  switch (when) {
    case When::kAlways: return "";
    case When::kHs256: return " with jwt_algorithm hs256";
    case When::kRs256: return " with jwt_algorithm rs256";
    case When::kNoKey:
      return " without security.proof_signing_key_path (server), security.server_keys (client)";
  }
  return "";
}

bool is_empty(const SecureConfig& config, std::string_view setting) {
  const auto* found = std::ranges::find(kMembers, setting, &Member::setting);
  if (found == kMembers.end()) std::abort();
  return found->empty(config);
}

bool applies(const Need& need, const SecureConfig& config, Role role) {
  if (need.mode != config.core.mode) return false;
  if (need.who == Who::kServer && role != Role::kServer) return false;
  if (need.who == Who::kClient && role != Role::kClient) return false;
  bool hs256 = config.security.jwt_algorithm == JwtAlgorithm::kHs256;
  switch (need.when) {
    case When::kAlways: return true;
    case When::kHs256: return hs256;
    case When::kRs256: return !hs256;
    case When::kNoKey:
      return role == Role::kServer ? config.security.proof_signing_key_path.empty()
                                   : config.security.server_keys.empty();
  }
  return true;
}

// One of two: a client shows one credential, and holds nothing that makes others.
struct Alternative {
  Mode mode;
  std::string_view first;
  std::string_view second;
  bool (*missing)(const Security& security, const Core& core);
};
constexpr auto kCredentials = std::to_array<Alternative>({
    {Mode::kBasic, "security.client_token", "security.client_cert_path",
     [](const Security& security, const Core&) {
       return security.client_token.empty() && security.client_cert_path.empty();
     }},
    {Mode::kEncrypted, "api_key", "security.client_token",
     [](const Security& security, const Core& core) {
       return security.client_token.empty() && core.api_key.empty();
     }},
});

std::string_view word_of(Mode mode) { return kWords<Mode>[static_cast<std::size_t>(mode)]; }

}  // namespace

Findings check_mode(const SecureConfig& config, Role role) {
  Findings out;
  for (const auto& need : kNeeds) {
    if (!applies(need, config, role) || !is_empty(config, need.setting)) continue;
    out.push_back({need.setting,
                   fmt::format("must be set in mode {}{}", word_of(need.mode), words(need.when))});
  }
  for (const auto& one : kCredentials) {
    if (role != Role::kClient || one.mode != config.core.mode) continue;
    if (!one.missing(config.security, config.core)) continue;
    out.push_back({one.first, fmt::format("must be set in mode {}, or {} instead",
                                          word_of(one.mode), one.second)});
  }
  bool no_keys = config.oauth2.jwks_url.empty() && config.oauth2.local_public_key_path.empty();
  if (role == Role::kServer && config.core.mode == Mode::kEnterprise && no_keys) {
    out.push_back({"oauth2.jwks_url",
                   "must be set in mode enterprise, or oauth2.local_public_key_path instead"});
  }
  if (role == Role::kServer &&
      config.oauth2.role_claims.empty() != config.oauth2.role_scopes_file.empty()) {
    out.push_back({"oauth2.role_scopes_file", "must be set with oauth2.role_claims, or neither"});
  }
  // A server has no more of such a key than its hash, and proves itself by another.
  if (role == Role::kClient && config.core.mode == Mode::kSimple &&
      config.core.secret_key.empty() && config.security.server_keys.empty() &&
      config.core.api_key.reveal().starts_with("scpk_")) {
    out.push_back({"secret_key", "must be set with an api_key that has a name"});
  }
  if (!config.core.secret_key.empty() && config.core.kdf_salt.empty() &&
      config.core.mode == Mode::kSimple) {
    out.push_back({"kdf_salt", "must be set with secret_key"});
  }
  return out;
}

std::string needs_markdown() {
  std::string out =
      "\n## What each mode needs\n\n| mode | who | setting | when |\n|---|---|---|---|\n";
  for (const auto& need : kNeeds) {
    std::string_view who = need.who == Who::kBoth     ? "server and client"
                           : need.who == Who::kServer ? "server"
                                                      : "client";
    std::string_view when = words(need.when);
    out += fmt::format("| {} | {} | `{}` | {} |\n", word_of(need.mode), who, need.setting,
                       when.empty() ? "always" : when.substr(1));
  }
  out += "| simple | server and client | `kdf_salt` | when secret_key is set |\n";
  out +=
      "| enterprise | server | `oauth2.jwks_url` or `oauth2.local_public_key_path` | "
      "always, one of the two |\n";
  for (const auto& one : kCredentials) {
    out += fmt::format("| {} | client | `{}` or `{}` | always, one of the two |\n",
                       word_of(one.mode), one.first, one.second);
  }
  return out;
}

}  // namespace tool::settings
