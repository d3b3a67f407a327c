#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "base/http/client.h"

namespace base::http {
namespace {

constexpr std::size_t kMaxHostLength = 253;  // RFC 1035, section 2.3.4

std::uint16_t default_port(bool encrypted) { return encrypted ? 443 : 80; }

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_host_name(std::string_view host) {
  return !host.empty() && host.size() <= kMaxHostLength && host.front() != '.' &&
         std::ranges::all_of(
             host, [](char c) { return is_alphanumeric(c) || c == '-' || c == '.' || c == '_'; });
}

bool is_address_literal(std::string_view host) {
  return !host.empty() && host.size() <= kMaxHostLength && host.contains(':') &&
         std::ranges::all_of(host,
                             [](char c) { return is_alphanumeric(c) || c == ':' || c == '.'; });
}

// Splits "host", "host:port" and "[address]:port"; the port's text is left
// empty when there is none, and nothing is returned when neither form fits.
struct HostAndPort {
  std::string_view host;
  std::optional<std::string_view> port;
};

std::optional<HostAndPort> split_authority(std::string_view text) {
  HostAndPort out;
  std::string_view rest;
  if (text.starts_with('[')) {
    auto end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    out.host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
    if (!is_address_literal(out.host)) return std::nullopt;
  } else {
    auto colon = std::min(text.find(':'), text.size());
    out.host = text.substr(0, colon);
    rest = text.substr(colon);
    if (!is_host_name(out.host)) return std::nullopt;
  }
  if (rest.empty()) return out;
  if (!rest.starts_with(':')) return std::nullopt;
  out.port = rest.substr(1);
  return out;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  auto port = parse_int64(text);
  if (!port || *port < 1 || *port > 65535 || text.size() > 5) return std::nullopt;
  return static_cast<std::uint16_t>(*port);
}

}  // namespace

Result<Origin> Origin::parse(std::string_view url) {
  constexpr std::string_view kPlain = "http://";
  constexpr std::string_view kEncrypted = "https://";
  auto broken = [] {
    return fail(ErrorKind::kInvalid, "must be http://host:port or https://host:port, with no path");
  };
  Origin origin;
  origin.encrypted = url.starts_with(kEncrypted);
  if (!origin.encrypted && !url.starts_with(kPlain)) return broken();
  auto parts = split_authority(url.substr(origin.encrypted ? kEncrypted.size() : kPlain.size()));
  if (!parts) return broken();
  auto port = parts->port ? parse_port(*parts->port) : default_port(origin.encrypted);
  if (!port) return broken();
  origin.host = parts->host;
  origin.port = *port;
  return origin;
}

std::string Origin::authority() const {
  std::string name = host.contains(':') ? fmt::format("[{}]", host) : host;
  return port == default_port(encrypted) ? name : fmt::format("{}:{}", name, port);
}

}  // namespace base::http
