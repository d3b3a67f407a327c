#include "toolserver/mcp_login/metadata.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json/fields.h"

namespace tool::login {
namespace {

namespace json = base::json;
using base::ErrorKind;
using base::fail;

constexpr json::Limits kLimits{.bytes = kDocumentBytes, .depth = 16, .values = 4096};
constexpr std::size_t kMostIssuers = 16;
constexpr std::size_t kTokenBytes = 16 << 10;
constexpr std::chrono::seconds kLongestLifetime{24 * 60 * 60};

constexpr std::array<std::pair<ClientAuth, std::string_view>, 4> kAuths = {
    {{ClientAuth::kNone, "none"},
     {ClientAuth::kBasic, "client_secret_basic"},
     {ClientAuth::kPost, "client_secret_post"},
     {ClientAuth::kPrivateKeyJwt, "private_key_jwt"}}};

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x21 && c <= 0x7e; });
}

bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= 2048 &&
         std::ranges::all_of(text, [](char c) { return c >= 0x20 && c <= 0x7e; });
}

// Words of a list that are texts; nothing where it is none or has too many.
base::Result<std::optional<std::vector<std::string>>> opt_texts(const json::Fields& fields,
                                                                std::string_view member) {
  if (!fields.has(member)) return std::optional<std::vector<std::string>>();
  ASSIGN_OR_RETURN(auto texts, fields.strings(member));
  return std::optional(std::move(texts));
}

base::Result<std::optional<Scopes>> opt_scopes(const json::Fields& fields) {
  ASSIGN_OR_RETURN(auto words, opt_texts(fields, "scopes_supported"));
  if (!words) return std::optional<Scopes>();
  Scopes out;
  for (const auto& word : *words) {
    auto one = read_scopes(word);
    if (!one || one->size() != 1) {
      return fail(ErrorKind::kInvalid, "scopes_supported: must hold words of a scope");
    }
    // An authorisation server may have more than anybody should ask for.
    add_scopes(out, *one);
  }
  return std::optional(std::move(out));
}

// The server's own address, or one above it at the same origin.
bool covers(const Address& resource, const Address& server) {
  if (!same_origin(resource, server)) return false;
  std::string above = resource.target;
  if (above == server.target) return true;
  if (above.ends_with('/')) above.pop_back();
  if (above.contains('?')) return false;
  return server.path().starts_with(above) &&
         (server.path().size() == above.size() || server.path()[above.size()] == '/');
}

}  // namespace

std::string_view name(ClientAuth method) {
  return std::ranges::find(kAuths, method, &decltype(kAuths)::value_type::first)->second;
}

std::optional<ClientAuth> client_auth_of(std::string_view name) {
  const auto* found = std::ranges::find(kAuths, name, &decltype(kAuths)::value_type::second);
  if (found == kAuths.end()) return std::nullopt;
  return found->first;
}

base::Result<ResourceMetadata> read_resource_metadata(std::string_view text,
                                                      const Address& server) {
  ASSIGN_OR_RETURN(auto value, json::parse(text, kLimits));
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(value, "resource metadata"));
  ResourceMetadata out;
  ASSIGN_OR_RETURN(out.resource, fields.string("resource"));
  auto resource = Address::parse(out.resource);
  if (!resource || !covers(*resource, server)) {
    return fail(ErrorKind::kInvalid, "resource: is not the server that was asked");
  }
  ASSIGN_OR_RETURN(out.issuers, fields.strings("authorization_servers"));
  if (out.issuers.empty() || out.issuers.size() > kMostIssuers) {
    return fail(ErrorKind::kInvalid, "authorization_servers: must be 1 to 16");
  }
  ASSIGN_OR_RETURN(out.scopes, opt_scopes(fields));
  return out;
}

base::Result<ServerMetadata> read_server_metadata(std::string_view text,
                                                  const std::string& issuer) {
  ASSIGN_OR_RETURN(auto value, json::parse(text, kLimits));
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(value, "server metadata"));
  ServerMetadata out;
  ASSIGN_OR_RETURN(out.issuer, fields.string("issuer"));
  if (out.issuer != issuer) {
    return fail(ErrorKind::kInvalid, "issuer: is not the one whose metadata was asked for");
  }
  ASSIGN_OR_RETURN(out.token_endpoint, fields.string("token_endpoint"));
  for (auto [member, place] : {std::pair{"authorization_endpoint", &out.authorization_endpoint},
                               {"registration_endpoint", &out.registration_endpoint}}) {
    ASSIGN_OR_RETURN(auto found, fields.opt_string(member));
    *place = found.value_or("");
  }
  ASSIGN_OR_RETURN(auto methods, opt_texts(fields, "code_challenge_methods_supported"));
  out.has_s256 = methods && std::ranges::find(*methods, "S256") != methods->end();
  ASSIGN_OR_RETURN(auto auths, opt_texts(fields, "token_endpoint_auth_methods_supported"));
  // What an absent list stands for. Source: RFC 8414, section 2.
  for (const auto& word : auths.value_or(std::vector<std::string>{"client_secret_basic"})) {
    if (auto known = client_auth_of(word)) out.client_auths.push_back(*known);
  }
  ASSIGN_OR_RETURN(auto algorithms,
                   opt_texts(fields, "token_endpoint_auth_signing_alg_values_supported"));
  out.assertion_algorithms = std::move(algorithms).value_or(std::vector<std::string>());
  ASSIGN_OR_RETURN(auto scopes, opt_scopes(fields));
  out.scopes = std::move(scopes).value_or(Scopes());
  ASSIGN_OR_RETURN(auto sends_issuer,
                   fields.opt_boolean("authorization_response_iss_parameter_supported"));
  out.sends_issuer = sends_issuer.value_or(false);
  ASSIGN_OR_RETURN(auto takes_urls, fields.opt_boolean("client_id_metadata_document_supported"));
  out.takes_client_urls = takes_urls.value_or(false);
  return out;
}

base::Result<Registration> read_registration(std::string_view text) {
  ASSIGN_OR_RETURN(auto value, json::parse(text, kLimits));
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(value, "registration"));
  Registration out;
  ASSIGN_OR_RETURN(out.client_id, fields.string("client_id"));
  ASSIGN_OR_RETURN(auto secret, fields.opt_string("client_secret"));
  ASSIGN_OR_RETURN(auto auth, fields.opt_string("token_endpoint_auth_method"));
  if (!is_id(out.client_id) || (secret && !secret->empty() && !is_id(*secret))) {
    return fail(ErrorKind::kInvalid, "client_id, client_secret: must be printable");
  }
  out.client_secret = base::Secret(std::move(secret).value_or(""));
  if (auth) out.auth = client_auth_of(*auth);
  if (auth && !out.auth) {
    return fail(ErrorKind::kInvalid, "token_endpoint_auth_method: is not known here");
  }
  return out;
}

base::Result<Tokens> read_tokens(std::string_view text) {
  ASSIGN_OR_RETURN(auto value, json::parse(text, kLimits));
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(value, "token answer"));
  ASSIGN_OR_RETURN(auto access, fields.string("access_token"));
  ASSIGN_OR_RETURN(auto refresh, fields.opt_string("refresh_token"));
  ASSIGN_OR_RETURN(auto type, fields.string("token_type"));
  ASSIGN_OR_RETURN(auto lifetime, fields.opt_int64("expires_in"));
  ASSIGN_OR_RETURN(auto scope, fields.opt_string("scope"));
  for (const std::string* token : {&access, refresh ? &*refresh : &access}) {
    if (token->size() > kTokenBytes || !is_printable(*token)) {
      return fail(ErrorKind::kInvalid, "a token must be at most 16384 printable characters");
    }
  }
  if (access.empty()) return fail(ErrorKind::kInvalid, "access_token: must not be empty");
  std::ranges::transform(type, type.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (type != "bearer") return fail(ErrorKind::kInvalid, "token_type: must be Bearer");
  Tokens out;
  out.access = base::Secret(std::move(access));
  out.refresh = base::Secret(std::move(refresh).value_or(""));
  if (lifetime) {
    if (*lifetime <= 0) return fail(ErrorKind::kInvalid, "expires_in: must be above 0");
    out.lifetime = std::chrono::seconds(std::min(*lifetime, kLongestLifetime.count()));
  }
  if (scope) {
    out.scope = read_scopes(*scope);
    if (!out.scope) return fail(ErrorKind::kInvalid, "scope: must be words of a scope");
  }
  return out;
}

std::string read_error_code(std::string_view text) {
  auto value = json::parse(text, kLimits);
  if (!value || !value->is_object()) return {};
  const auto* error = value->get_object().if_contains("error");
  if (error == nullptr || !error->is_string() || error->get_string().size() > 64) return {};
  std::string code(error->get_string());
  bool is_code =
      std::ranges::all_of(code, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
  return is_code ? code : std::string();
}

std::vector<std::string> resource_metadata_urls(const Address& server) {
  std::string root = server.origin_text() + "/.well-known/oauth-protected-resource";
  std::string path = server.path();
  if (path == "/") return {root};
  return {root + path, root};
}

base::Result<std::vector<std::string>> server_metadata_urls(const std::string& issuer) {
  ASSIGN_OR_RETURN(auto address, Address::parse(issuer));
  if (address.target.contains('?')) {
    return fail(ErrorKind::kInvalid, "an issuer must have no query");
  }
  std::string origin = address.origin_text();
  std::string path = address.path();
  while (path.ends_with('/')) path.pop_back();
  std::vector<std::string> out{origin + "/.well-known/oauth-authorization-server" + path,
                               origin + "/.well-known/openid-configuration" + path};
  if (!path.empty()) out.push_back(origin + path + "/.well-known/openid-configuration");
  return out;
}

}  // namespace tool::login
