#pragma once

// Configurations that validate, for tests to spoil one thing in.

#include "toolserver/settings/settings.h"

namespace tool::settings {

inline constexpr const char* kGoodApiKey = "u4Kx9TzWq7Lm2PvRc8YbN5Hd";
inline constexpr const char* kGoodSecretKey = "pX3v9Lq2RzT8mKc5WbN7yHd4JfG6sAeU";
inline constexpr const char* kGoodJwtSecret = "G7rB2kVz9QxM4tYp8LwC6nJh3FdS5aEu";
inline constexpr const char* kGoodSalt = "Zq8W3xRv6TbN1mKy";

/// In plaintext on this machine for a server, over TLS for a client.
inline SecureConfig good_config(Mode mode, Role role) {
  SecureConfig config = defaults();
  config.core.mode = mode;
  config.core.node_id = "node-1";
  config.core.api_key = base::Secret(kGoodApiKey);
  config.core.secret_key = base::Secret(kGoodSecretKey);
  config.core.jwt_secret = base::Secret(kGoodJwtSecret);
  config.core.kdf_salt = base::Secret(kGoodSalt);
  if (role == Role::kServer) config.security.allow_insecure_transit = true;
  if (role == Role::kClient) {
    config.core.server_url = "wss://node.example:7443";
    config.core.jwt_secret = {};
    config.security.client_token = base::Secret("eyJhbGciOiJSUzI1NiJ9.e30.c2ln");
  }
  if (mode == Mode::kEnterprise) {
    config.oauth2.audience = "tools";
    config.oauth2.issuer = "https://id.example/";
    config.oauth2.jwks_url = "https://id.example/keys";
    config.oauth2.client_id = "client";
    config.oauth2.client_secret = base::Secret("vB6nW9eKq2");
    config.oauth2.token_url = "https://id.example/token";
  }
  return config;
}

}  // namespace tool::settings
