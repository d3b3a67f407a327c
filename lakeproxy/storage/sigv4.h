#pragma once

// Signature Version 4: the proof that a request to the object store comes from
// the holder of a key. Canonical form and wire form come out of the same two
// functions here, so the server cannot read another request than was signed.
// Source: AWS IAM User Guide, "Create a signed AWS API request"; Amazon S3 API
// Reference, "Authenticating Requests: Using the Authorization Header".

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/secret.h"
#include "base/http/message.h"

namespace lake::storage {

using Sha256 = std::array<std::uint8_t, 32>;

[[nodiscard]] Sha256 sha256(std::string_view bytes);
[[nodiscard]] Sha256 hmac_sha256(std::string_view key, std::string_view bytes);

struct Credentials {
  std::string access_key;
  base::Secret secret_key;
  base::Secret session_token;  ///< Empty for long-lived keys.
};

/// One query parameter, not encoded.
struct Parameter {
  std::string name;
  std::string value;
};

struct SignableRequest {
  base::http::Method method = base::http::Method::kGet;
  std::string host;              ///< As in the Host field.
  std::string path;              ///< Not encoded, starts with '/'.
  std::vector<Parameter> query;  ///< In any order.
  base::http::Headers headers;   ///< All of them are signed; without Host.
  std::string payload_hash;      ///< SHA-256 of the body in hexadecimal.
};

/// The path as signed and sent: every byte outside the unreserved set and '/'
/// is encoded, once.
[[nodiscard]] std::string canonical_path(std::string_view path);
/// The query as signed and sent: encoded, then sorted.
[[nodiscard]] std::string canonical_query(const std::vector<Parameter>& query);

/// Signs for one holder, region and service. The day's key is derived once and
/// kept; used from one thread.
class Signer {
 public:
  Signer(Credentials credentials, std::string region, std::string service = "s3")
      : credentials_(std::move(credentials)),
        region_(std::move(region)),
        service_(std::move(service)) {}

  /// The fields to send: those of the request, x-amz-date,
  /// x-amz-content-sha256, x-amz-security-token and Authorization.
  [[nodiscard]] base::http::Headers sign(const SignableRequest& request, base::WallTime now);

 private:
  [[nodiscard]] const std::string& key_of(const std::string& day);

  Credentials credentials_;
  std::string region_;
  std::string service_;
  std::string day_;  ///< "YYYYMMDD" of day_key_.
  base::Secret day_key_;
};

}  // namespace lake::storage
