#include "toolserver/settings/text_rules.h"

#include <algorithm>
#include <array>

#include "toolserver/settings/endpoint.h"

namespace tool::settings {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_small(char c) { return c >= 'a' && c <= 'z'; }
bool is_alphanumeric(char c) { return is_small(c) || is_digit(c) || (c >= 'A' && c <= 'Z'); }
bool is_name_character(char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; }

// The characters of a scope-token. Source: RFC 6749, section 3.3.
bool is_scope_character(char c) { return c > 0x20 && c < 0x7f && c != '"' && c != '\\'; }

}  // namespace

std::string_view name_rule(std::string_view text) {
  bool good = !text.empty() && text.size() <= 64 && is_alphanumeric(text[0]) &&
              std::ranges::all_of(text, is_name_character);
  return good ? ""
              : "must be 1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or "
                "digit";
}

std::string_view node_rule(std::string_view text) { return text.empty() ? "" : name_rule(text); }

std::string_view host_rule(std::string_view text) {
  bool good = !text.empty() && text.size() <= 253 &&
              std::ranges::all_of(text, [](char c) { return is_name_character(c) || c == ':'; });
  return good ? "" : "must be an address, such as 127.0.0.1 or ::";
}

std::string_view url_path_rule(std::string_view text) {
  constexpr std::string_view kBroken =
      "must be segments of letters, digits, '.', '_' or '-', each after a '/'";
  if (text.size() > 256 || !text.starts_with('/')) return kBroken;
  while (!text.empty()) {
    text.remove_prefix(1);
    auto slash = std::min(text.find('/'), text.size());
    auto segment = text.substr(0, slash);
    text.remove_prefix(slash);
    if (segment.empty() || segment == "." || segment == ".." ||
        !std::ranges::all_of(segment, is_name_character)) {
      return kBroken;
    }
  }
  return "";
}

std::string_view origin_rule(std::string_view text) {
  auto origin = parse_endpoint(text);
  bool good = origin && origin->path.empty() && text.starts_with(origin->scheme) &&
              (origin->scheme == "http" || origin->scheme == "https") &&
              std::ranges::none_of(origin->host, [](char c) { return c >= 'A' && c <= 'Z'; });
  return good ? "" : "must be an origin in small letters: https://host or https://host:port";
}

std::string_view suite_rule(std::string_view text) {
  static constexpr std::array kSuites = {std::string_view("X25519_A256GCM_S256"),
                                         std::string_view("P256_A256GCM_S256"),
                                         std::string_view("X25519_C20P_S256")};
  bool good = std::ranges::find(kSuites, text) != kSuites.end();
  return good ? "" : "must be X25519_A256GCM_S256, P256_A256GCM_S256 or X25519_C20P_S256";
}

std::string_view scope_rule(std::string_view text) {
  static constexpr std::array kWhole = {
      std::string_view("cap:list"), std::string_view("flow:run"), std::string_view("fed:forward"),
      std::string_view("mcp:resources"), std::string_view("mcp:prompts")};
  static constexpr std::array kBegin = {
      std::string_view("admin:"), std::string_view("tool:invoke:"),
      std::string_view("tool:describe:"), std::string_view("prompt:get:"),
      std::string_view("resource:read:")};
  bool known = std::ranges::find(kWhole, text) != kWhole.end() ||
               std::ranges::any_of(kBegin, [&](std::string_view begin) {
                 return text.starts_with(begin) && text.size() > begin.size();
               });
  bool good = known && text.size() <= 256 && std::ranges::all_of(text, is_scope_character);
  return good ? "" : "must be a scope that the protocol knows, such as tool:invoke:files.read";
}

std::string_view shipped_rules_rule(std::string_view text) {
  bool is_known = text == "injection" || text == "personal_data" || text == "secrets";
  return is_known ? "" : "must be injection, personal_data or secrets";
}

bool is_thumbprint(std::string_view text) {
  constexpr std::size_t kCharacters = 43;  // SHA-256 in base64url.
  return text.size() == kCharacters && std::ranges::all_of(text, [](char c) {
           return is_small(c) || is_digit(c) || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
         });
}

// A thumbprint with a slip of the pen is no file.
std::string_view server_key_rule(std::string_view text) {
  bool is_file = text.contains('/') || text.ends_with(".pub") || text.ends_with(".pem");
  return is_thumbprint(text) || is_file
             ? ""
             : "must be a thumbprint of 43 characters, or the path of a PEM file";
}

std::string_view table_rule(std::string_view text) {
  const std::size_t dot = text.rfind('.');
  const bool good = dot != std::string_view::npos && dot > 0 && dot + 1 < text.size();
  return good ? "" : "must be NAMESPACE.TABLE";
}

std::string_view extension_rule(std::string_view text) {
  bool good =
      text.size() >= 2 && text.size() <= 17 && text[0] == '.' &&
      std::ranges::all_of(text.substr(1), [](char c) { return is_small(c) || is_digit(c); });
  return good ? "" : "must be a dot and 1 to 16 of a-z and 0-9";
}

std::string_view service_name_rule(std::string_view text) {
  bool good = text.size() <= 253 && std::ranges::all_of(text, is_name_character);
  return good ? "" : "must be letters, digits, '.', '_' and '-'";
}

std::string_view key_prefix_rule(std::string_view text) {
  bool good = text.size() <= 256 &&
              std::ranges::all_of(text, [](char c) { return is_name_character(c) || c == '/'; });
  return good ? "" : "must be letters, digits, '.', '_', '-' and '/'";
}

std::optional<Peer> parse_peer(std::string_view text) {
  auto space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  Peer out{
      .node_id = std::string(text.substr(0, space)), .endpoint = {}, .proof_public_key_path = {}};
  text.remove_prefix(space + 1);
  // The file's name is the rest and may have spaces.
  space = text.find(' ');
  out.endpoint = text.substr(0, space);
  if (space != std::string_view::npos) {
    out.proof_public_key_path = text.substr(space + 1);
    if (out.proof_public_key_path.empty()) return std::nullopt;
  }
  if (!name_rule(out.node_id).empty()) return std::nullopt;
  if (out.endpoint == "-") {
    out.endpoint.clear();
    return out;
  }
  auto endpoint = parse_endpoint(out.endpoint);
  if (!endpoint || (endpoint->scheme != "ws" && endpoint->scheme != "wss")) return std::nullopt;
  return out;
}

std::string_view peer_rule(std::string_view text) {
  return parse_peer(text) ? "" : "must be \"node_id wss://host:port\", then perhaps a key file";
}

}  // namespace tool::settings
