#include "toolserver/mcp_login/address.h"

#include <fmt/format.h>

#include <algorithm>

namespace tool::login {
namespace {

using base::ErrorKind;
using base::fail;
using definition::is_loopback_name;

constexpr std::size_t kMostBytes = 2048;

base::Error broken() {
  return fail(ErrorKind::kInvalid, "must be a URL of https, without user and fragment");
}

}  // namespace

base::Result<Address> Address::parse(std::string_view url) {
  bool is_plain =
      url.size() <= kMostBytes && std::ranges::all_of(url, [](char c) {
        return c > 0x20 && c < 0x7f && c != '\\' && c != '#' && c != '"' && c != '<' && c != '>';
      });
  std::size_t scheme = url.find("://");
  if (!is_plain || scheme == std::string_view::npos) return broken();
  std::size_t end = std::min(url.find_first_of("/?", scheme + 3), url.size());
  std::string before(url.substr(0, end));
  std::ranges::transform(before, before.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  auto origin = base::http::Origin::parse(before);
  if (!origin) return broken();
  Address out{std::move(*origin), std::string(url.substr(end))};
  if (!out.target.starts_with('/')) out.target.insert(0, "/");
  return out;
}

std::string Address::origin_text() const {
  return fmt::format("{}://{}", origin.encrypted ? "https" : "http", origin.authority());
}

bool same_origin(const Address& a, const Address& b) {
  return a.origin.host == b.origin.host && a.origin.port == b.origin.port &&
         a.origin.encrypted == b.origin.encrypted;
}

AddressPolicy::AddressPolicy(Address server, std::vector<std::string> networks)
    : server_(std::move(server)), rule_(networks) {}

base::Status AddressPolicy::check(const Address& address) const {
  bool is_local = is_loopback_name(address.origin.host);
  if (!address.origin.encrypted && !is_local) {
    return fail(ErrorKind::kForbidden, address.origin_text() + ": plaintext to another machine");
  }
  if (is_local && !is_loopback_name(server_.origin.host)) {
    return fail(ErrorKind::kForbidden,
                address.origin_text() + ": this machine, named by a server that is not on it");
  }
  return {};
}

base::http::AddressFilter AddressPolicy::filter(const Address& address) const {
  if (same_origin(address, server_)) return {};
  // A name of this machine stands for nothing else, whatever a name service says.
  if (is_loopback_name(address.origin.host)) {
    return [](const boost::asio::ip::address& ip) { return ip.is_loopback(); };
  }
  return [rule = rule_](const boost::asio::ip::address& ip) { return rule.allows(ip); };
}

}  // namespace tool::login
