#pragma once

// The keys of the gateway: made by this server, short-lived, for one caller and one table. Nothing
// is stored of them. What a key stands for is sealed in its session token, which only holders of
// the server's secret can make or read, and its secret key follows from the token, so every server
// of a lake can check what any of them has given.

#include <optional>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/core/secret.h"
#include "base/crypto/aead.h"
#include "base/crypto/digest.h"
#include "lakeproxy/auth/principal.h"
#include "lakeproxy/delegation/storage_rights.h"
#include "lakeproxy/model/identifier.h"

namespace lake::gateway {

/// What a key is for. What it opens at a given moment is asked then: it is never more than this.
struct Grant {
  auth::Principal principal;
  std::string catalog;
  model::TableIdentifier table;
  std::string location;  ///< Of the table when the key was made, without '/' at the end.
  bool staged = false;   ///< There was no such table yet.
  delegation::KeyAccess access = delegation::KeyAccess::kRead;
  base::WallTime expires;
};

/// As a client gets it.
struct Key {
  std::string access_key_id;
  base::Secret secret_access_key;
  base::Secret session_token;
  base::WallTime expires;
};

/// As a request shows it.
struct OpenedKey {
  Grant grant;
  base::Secret secret_access_key;
};

/// Of one event loop: sealing keeps its cipher.
class Keys {
 public:
  /// Keys are made under `secret`, and taken under `other` too, unless it is empty.
  /// Errors: kInvalid  a secret of fewer than 32 bytes.
  [[nodiscard]] static base::Result<Keys> create(const base::Secret& secret,
                                                 const base::Secret& other, base::Random& random);

  /// Errors: kTooLarge  the token would be over 8 KiB.
  [[nodiscard]] base::Result<Key> mint(const Grant& grant);
  /// Errors, as refuse() makes them: kUnknownKey  no id of the gateway's; kBadToken  no token of
  /// ours, or of another id; kExpired.
  [[nodiscard]] base::Result<OpenedKey> open(std::string_view access_key_id,
                                             std::string_view session_token, base::WallTime now);

 private:
  struct Secrets {
    base::crypto::Aead sealing;
    base::crypto::HmacKey deriving;
  };
  Keys(Secrets current, std::optional<Secrets> other, base::Random& random)
      : current_(std::move(current)), other_(std::move(other)), random_(&random) {}
  [[nodiscard]] static base::Result<Secrets> secrets_of(const base::Secret& secret);
  [[nodiscard]] static base::Secret secret_key(const Secrets& secrets, std::string_view token);

  Secrets current_;
  std::optional<Secrets> other_;
  base::Random* random_;
};

}  // namespace lake::gateway
