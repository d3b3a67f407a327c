#pragma once

// Addresses that a foreign server names: of its metadata, of the authorisation
// server, of the places where codes become tokens. Whoever runs the server
// chooses them, so each is judged before anything is sent there, and the
// network address behind its name once more when a connection is made.
// Sources: RFC 9728, section 7.7 (SSRF); docs/adr/0133.

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/http/client.h"
#include "toolserver/definition/address_rule.h"

namespace tool::login {

struct Address {
  base::http::Origin origin;  ///< The host in small letters.
  std::string target;         ///< Path and query; "/" when the URL has none.

  /// An absolute URL of http or https in printable ASCII, without user, fragment
  /// and backslash, at most 2,048 characters.
  /// Errors: kInvalid  not such a URL.
  [[nodiscard]] static base::Result<Address> parse(std::string_view url);

  /// "https://host[:port]", without a path.
  [[nodiscard]] std::string origin_text() const;
  /// The path alone, without query.
  [[nodiscard]] std::string path() const { return target.substr(0, target.find('?')); }
};

[[nodiscard]] bool same_origin(const Address& a, const Address& b);

/// What may be asked on behalf of one server. A value.
class AddressPolicy {
 public:
  /// `server` is the one that an operator configured; `networks` are those that
  /// its authorisation server may be in besides the public internet.
  AddressPolicy(Address server, std::vector<std::string> networks);

  /// Errors: kForbidden  plaintext to another machine; an address of this
  ///         machine, where the server itself is none of this machine.
  [[nodiscard]] base::Status check(const Address& address) const;
  /// For the connection to an address that passed check(). The server's own
  /// origin is where the operator put it; others are public, of `networks`, or
  /// of this machine where check() lets them.
  [[nodiscard]] base::http::AddressFilter filter(const Address& address) const;

 private:
  Address server_;
  definition::AddressRule rule_;
};

}  // namespace tool::login
