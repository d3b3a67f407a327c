#pragma once

// A name that an operator wrote down can be made to stand for any address by
// whoever owns its zone: for this machine, for the network behind it, for the
// service that hands out a cloud machine's credentials. So the address itself
// is judged, at the moment a connection to it is made.
// Source: IANA special-purpose address registries (RFC 6890 and its updates).

#include <boost/asio/ip/address.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tool::definition {

/// "10.0.0.0/8", "::1/128", or an address alone. No bits beyond the prefix.
[[nodiscard]] bool is_network(std::string_view text);

/// Whether this is a name or an address of this machine: localhost, 127.0.0.0/8, ::1.
[[nodiscard]] bool is_loopback_name(std::string_view host);

/// Which addresses may be connected to: public ones, and those of `networks`,
/// each is_network(). What embeds an IPv4 address (mapped, 6to4, NAT64, Teredo)
/// is never public. A value; safe from any thread.
class AddressRule {
 public:
  explicit AddressRule(const std::vector<std::string>& networks);
  [[nodiscard]] bool allows(const boost::asio::ip::address& address) const;

 private:
  struct Network {
    boost::asio::ip::address base;
    unsigned prefix = 0;
  };
  static bool contains(const Network& network, const boost::asio::ip::address& address);
  std::vector<Network> networks_;
};

}  // namespace tool::definition
