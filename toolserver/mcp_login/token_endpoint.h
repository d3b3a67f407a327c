#pragma once

// Requests to an authorisation server: where a code, a refresh token or the
// client itself becomes an access token, and where a client is registered.
// Each shows who the client is in the way that the server takes.
// Sources: RFC 6749, sections 2.3 and 3.2; RFC 7523; RFC 7591; RFC 8707.

#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/core/secret.h"
#include "base/http/client.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "toolserver/mcp_login/address.h"
#include "toolserver/mcp_login/metadata.h"

namespace tool::login {

/// Asks addresses that a foreign server named. A value; of one event loop.
class MetadataClient {
 public:
  static constexpr std::chrono::milliseconds kTime{10'000};  ///< Of one request.

  /// `ca_file`: PEM with the trusted roots; the system's when empty.
  MetadataClient(AddressPolicy policy, std::string ca_file)
      : policy_(std::move(policy)), ca_file_(std::move(ca_file)) {}

  /// An answer of any status, of kDocumentBytes at most. No redirect is followed.
  /// Errors: kInvalid  no URL; kForbidden  the policy; kUnavailable, kTimeout,
  ///         kOutcomeUnknown, kTooLarge  of the request. Messages name the origin.
  [[nodiscard]] base::Task<base::Result<base::http::Response>> get(std::string url) const;
  [[nodiscard]] base::Task<base::Result<base::http::Response>> post(std::string url,
                                                                    base::http::Headers headers,
                                                                    std::string body) const;

  [[nodiscard]] const AddressPolicy& policy() const { return policy_; }
  /// No request of this, or of a copy from now on, goes on after `time`.
  void stop_at(base::Deadline time) { until_ = time; }

 private:
  [[nodiscard]] base::Task<base::Result<base::http::Response>> send(
      std::string url, base::http::ClientRequest request) const;

  AddressPolicy policy_;
  std::string ca_file_;
  base::Deadline until_ = base::Deadline::max();
};

/// Parameters in form encoding.
class Form {
 public:
  /// Leaves out what is empty.
  Form& add(std::string_view name, std::string_view value);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// A client as one authorisation server knows it.
struct Client {
  std::string id;
  base::Secret secret;       ///< Of kBasic and kPost.
  base::Secret private_key;  ///< PEM, of kPrivateKeyJwt.
  ClientAuth auth = ClientAuth::kNone;
  std::vector<std::string> algorithms = {};  ///< That the server takes of a key; empty: not known.
};

/// How a client with these credentials shows who it is at `server`.
/// Errors: kUnsupported  in no way that the server takes.
[[nodiscard]] base::Result<ClientAuth> choose_auth(const ServerMetadata& server, bool has_secret,
                                                   bool has_key);

/// What goes to the token endpoint of `issuer`.
struct TokenRequest {
  base::http::Headers headers;
  std::string body;
};
/// Adds to `form` who the client is. A private key signs a token of one minute, by ES256
/// (P-256), EdDSA (Ed25519), or RS256, else PS256 (RSA).
/// Errors: kInvalid  the private key is none that can be used;
///         kUnsupported  the server takes no signature of such a key.
[[nodiscard]] base::Result<TokenRequest> authenticate(Form form, const Client& client,
                                                      const std::string& issuer, base::WallTime now,
                                                      base::Random& random);

/// Errors: kUnauthenticated  the server refuses, with its code in the message;
///         kUnavailable  another status; and those of MetadataClient and read_tokens.
[[nodiscard]] base::Task<base::Result<Tokens>> request_tokens(MetadataClient http, std::string url,
                                                              TokenRequest request);

/// Registers a client for a person's sign-in at `redirect_uri`.
/// Errors: as request_tokens(), and those of read_registration.
[[nodiscard]] base::Task<base::Result<Registration>> register_client(MetadataClient http,
                                                                     ServerMetadata server,
                                                                     std::string redirect_uri);

/// `bytes` random bytes as base64url: a state, a code verifier, an id.
[[nodiscard]] std::string random_text(base::Random& random, std::size_t bytes);

}  // namespace tool::login
