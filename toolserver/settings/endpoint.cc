#include "toolserver/settings/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

#include "base/core/loopback.h"
#include "base/core/text.h"

namespace tool::settings {
namespace {

constexpr std::string_view kNameCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
constexpr std::string_view kPathCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/!$&'()*+,;=:%";

bool made_of(std::string_view text, std::string_view characters) {
  return text.find_first_not_of(characters) == std::string_view::npos;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// Takes "host" or "[v6]" off the front; what is left is the port's part.
std::optional<std::string> take_host(std::string_view& authority) {
  std::string host;
  if (authority.starts_with('[')) {
    auto close = authority.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    host = authority.substr(1, close - 1);
    authority.remove_prefix(close + 1);
    in6_addr address{};
    if (inet_pton(AF_INET6, host.c_str(), &address) != 1) return std::nullopt;
  } else {
    auto colon = std::min(authority.find(':'), authority.size());
    host = authority.substr(0, colon);
    authority.remove_prefix(colon);
    if (host.empty() || !made_of(host, kNameCharacters)) return std::nullopt;
  }
  return host;
}

}  // namespace

std::optional<Endpoint> parse_endpoint(std::string_view url) {
  auto colon = url.find("://");
  if (colon == std::string_view::npos || colon == 0 || url.size() > 2048) return std::nullopt;
  Endpoint out{.scheme = lower(url.substr(0, colon)), .host = {}, .port = {}, .path = {}};
  std::string_view authority = url.substr(colon + 3);
  if (auto slash = authority.find('/'); slash != std::string_view::npos) {
    out.path = authority.substr(slash);
    authority = authority.substr(0, slash);
  }
  auto host = take_host(authority);
  if (!host || !made_of(out.path, kPathCharacters)) return std::nullopt;
  out.host = std::move(*host);
  if (!authority.empty()) {
    bool digits = authority.size() > 1 && authority.size() <= 6 && authority[0] == ':' &&
                  made_of(authority.substr(1), "0123456789");
    auto port = digits ? base::parse_int64(authority.substr(1)) : std::nullopt;
    if (!port || *port < 1 || *port > 65535) return std::nullopt;
    out.port = static_cast<std::uint16_t>(*port);
  }
  return out;
}

bool is_loopback(std::string_view host) {
  return lower(host) == "localhost" || base::is_loopback_address(host);
}

bool is_plaintext(const Endpoint& endpoint) {
  return endpoint.scheme == "ws" || endpoint.scheme == "http";
}

}  // namespace tool::settings
