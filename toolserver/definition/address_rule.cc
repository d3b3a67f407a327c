#include "toolserver/definition/address_rule.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/core/text.h"

namespace tool::definition {
namespace {

namespace ip = boost::asio::ip;

// Everything that is not plainly a host of the public internet.
constexpr std::array kNotPublic4 = {
    "0.0.0.0/8",      "10.0.0.0/8",     "100.64.0.0/10",   "127.0.0.0/8",     "169.254.0.0/16",
    "172.16.0.0/12",  "192.0.0.0/24",   "192.0.2.0/24",    "192.31.196.0/24", "192.52.193.0/24",
    "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15",   "198.51.100.0/24",
    "203.0.113.0/24", "224.0.0.0/4",    "240.0.0.0/4"};
// Within 2000::/3, outside of which nothing is public.
constexpr std::array kNotPublic6 = {"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48",
                                    "3fff::/20"};

struct Parsed {
  ip::address base;
  unsigned prefix = 0;
};

bool same_bits(std::span<const unsigned char> a, std::span<const unsigned char> b,
               unsigned prefix) {
  for (unsigned i = 0; i < prefix / 8; ++i) {
    if (a[i] != b[i]) return false;
  }
  unsigned rest = prefix % 8;
  if (rest == 0) return true;
  auto mask = static_cast<unsigned char>(0xff << (8 - rest));
  return (a[prefix / 8] & mask) == (b[prefix / 8] & mask);
}

bool is_within(const ip::address& base, unsigned prefix, const ip::address& address) {
  if (base.is_v4() != address.is_v4()) return false;
  if (base.is_v4()) return same_bits(base.to_v4().to_bytes(), address.to_v4().to_bytes(), prefix);
  return same_bits(base.to_v6().to_bytes(), address.to_v6().to_bytes(), prefix);
}

std::optional<Parsed> parse(std::string_view text) {
  std::size_t slash = text.find('/');
  boost::system::error_code error;
  Parsed out;
  out.base = ip::make_address(std::string(text.substr(0, slash)), error);
  if (error || (out.base.is_v6() && out.base.to_v6().scope_id() != 0)) return std::nullopt;
  unsigned most = out.base.is_v4() ? 32 : 128;
  out.prefix = most;
  if (slash == std::string_view::npos) return out;
  auto prefix = base::parse_int64(text.substr(slash + 1));
  if (!prefix || *prefix < 0 || *prefix > most) return std::nullopt;
  out.prefix = static_cast<unsigned>(*prefix);
  // "10.1.0.0/8" is more likely a mistake than a network.
  auto has_rest = [&](auto bytes) {
    for (unsigned bit = out.prefix; bit < most; ++bit) {
      if ((bytes[bit / 8] >> (7 - bit % 8) & 1) != 0) return true;
    }
    return false;
  };
  bool rest = out.base.is_v4() ? has_rest(out.base.to_v4().to_bytes())
                               : has_rest(out.base.to_v6().to_bytes());
  if (rest) return std::nullopt;
  return out;
}

bool is_in_one_of(std::span<const char* const> networks, const ip::address& address) {
  return std::ranges::any_of(networks, [&](const char* text) {
    auto network = parse(text);
    return !network || is_within(network->base, network->prefix, address);
  });
}

bool is_public(const ip::address& address) {
  if (address.is_v4()) return !is_in_one_of(kNotPublic4, address);
  static const ip::address kGlobal = ip::make_address("2000::");
  if (address.to_v6().scope_id() != 0 || !is_within(kGlobal, 3, address)) return false;
  return !is_in_one_of(kNotPublic6, address);
}

}  // namespace

bool is_network(std::string_view text) { return parse(text).has_value(); }

bool is_loopback_name(std::string_view host) {
  if (host == "localhost") return true;
  boost::system::error_code error;
  auto address = ip::make_address(std::string(host), error);
  return !error && address.is_loopback();
}

AddressRule::AddressRule(const std::vector<std::string>& networks) {
  for (const auto& text : networks) {
    if (auto parsed = parse(text)) networks_.push_back({parsed->base, parsed->prefix});
  }
}

bool AddressRule::contains(const Network& network, const ip::address& address) {
  return is_within(network.base, network.prefix, address);
}

bool AddressRule::allows(const ip::address& address) const {
  if (std::ranges::any_of(networks_, [&](const auto& one) { return contains(one, address); })) {
    return true;
  }
  return is_public(address);
}

}  // namespace tool::definition
