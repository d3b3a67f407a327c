#pragma once

// The programs that may ask for tokens, as the operator has configured them.
// Source: specification, section 5.3.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/core/secret.h"
#include "base/jose/jws.h"
#include "lakeproxy/auth/scope.h"

namespace lake::auth {

/// What a client shows, as the operator keeps it: as it is, or as a hash of it.
class StoredSecret {
 public:
  /// Errors: kInvalid  empty, over 512 bytes, or a hash of another form than argon2id and bcrypt.
  [[nodiscard]] static base::Result<StoredSecret> make(std::string stored);

  [[nodiscard]] bool is_hash() const { return is_hash_; }
  /// For one that is no hash; in time that depends on neither.
  [[nodiscard]] bool equals(std::string_view shown) const;
  /// For a hash; slow, so never on an event loop.
  [[nodiscard]] bool is_hash_of(std::string_view shown) const;

 private:
  StoredSecret(base::Secret stored, bool is_hash) : stored_(std::move(stored)), is_hash_(is_hash) {}

  base::Secret stored_;
  bool is_hash_;
};

/// Users of the identity provider of whom a client may state that it asks for them. What they may
/// do says their token to others; here it stands beside their names, since that token is not shown.
struct StatedUsers {
  std::vector<std::string> names;  ///< Their `sub`, or "*" for each user of the provider.
  Scopes scopes;                   ///< At most; never the administrator's.
  std::vector<std::string> roles;

  [[nodiscard]] bool holds(std::string_view subject) const;
};

struct Client {
  std::string id;
  StoredSecret secret;
  Scopes scopes;
  std::vector<std::string> roles;
  std::optional<std::string> account;
  /// For whom it may act: ids of clients, or "*" for every client and every user of the provider.
  std::vector<std::string> may_act_for;
  /// What it may sign statements with about whom it asks for: subject_statements.h.
  std::vector<base::jose::Verifier> statement_keys;
  /// Whom of the provider's users its statements may be about; without it, clients alone.
  std::optional<StatedUsers> users = std::nullopt;

  [[nodiscard]] bool may_act_for_client(std::string_view subject) const;
  [[nodiscard]] bool may_act_for_everybody() const { return may_act_for_client("*"); }
  /// Of a user of the provider.
  [[nodiscard]] bool may_act_for_user(std::string_view subject) const {
    return may_act_for_everybody() || (users && users->holds(subject));
  }
};

/// Whether it may be the name of a user of the provider: UTF-8 of 1 to 255 bytes, without control
/// characters and ", ".
[[nodiscard]] bool is_user_name(std::string_view name);

/// By their ids. Immutable after loading.
class Clients {
 public:
  /// "id:secret|scope|roles|account", parted by commas; words of scope and roles by spaces. What
  /// stands at the end may be left out, but not the scope.
  /// Errors: kInvalid  names the entry by its number, and never repeats it.
  [[nodiscard]] base::Status add_entries(std::string_view text);
  /// A JSON list of {id, secret, scope, roles, account, may_act_for, statement_keys, users}; scope,
  /// roles and may_act_for are a text of words or a list, statement_keys a list of public keys in
  /// PEM: Ed25519, RSA or P-256; users is {names, scope, roles}, in the same forms. Errors: the
  /// same.
  [[nodiscard]] base::Status add_json(std::string_view text);

  [[nodiscard]] bool empty() const { return clients_.empty(); }
  [[nodiscard]] std::size_t size() const { return clients_.size(); }
  /// Null when there is none. Valid while this is.
  [[nodiscard]] const Client* find(std::string_view id) const;
  [[nodiscard]] bool has_hashes() const;
  /// Whether a client may state whom it asks for.
  [[nodiscard]] bool has_statement_keys() const;
  /// Whether one may ask for users of the provider.
  [[nodiscard]] bool has_stated_users() const;

 private:
  base::Status add(Client client);
  std::map<std::string, Client, std::less<>> clients_;
};

}  // namespace lake::auth
