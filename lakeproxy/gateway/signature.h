#pragma once

// Whether a request was signed by the holder of a key. The request is judged as it came in: what
// is not covered by the signature might be anybody's, so every x-amz field must be.
// Source: AWS IAM User Guide, "Create a signed AWS API request"; Amazon S3 API Reference,
// "Authenticating Requests: Using the Authorization Header".

#include <chrono>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/core/secret.h"
#include "base/http/message.h"

namespace lake::gateway {

/// How far a client's clock may be from ours; also how long a request that somebody has recorded
/// can be sent again, as with S3 itself.
inline constexpr std::chrono::minutes kClockSkew{15};

/// The Authorization field of a request, not verified. Borrowed from it.
struct ShownSignature {
  std::string_view access_key_id;
  std::string_view scope;  ///< "20260131/us-east-1/s3/aws4_request".
  std::string_view day;
  std::string_view region;
  std::string_view signed_headers;  ///< As they stand there.
  std::string_view signature;       ///< 64 digits of hexadecimal, lower case.
};

/// Errors, as refuse() makes them: kMissingToken  no such field; kBadHeader  several, another
/// algorithm, or another form. At most 4 KiB are looked at.
[[nodiscard]] base::Result<ShownSignature> read_authorization(const base::http::Headers& headers);

/// A signature that fits, with what its chunks are signed with.
struct Verified {
  std::string signing_key;
  std::string time;
  std::string scope;
  std::string signature;
  std::string payload_hash;  ///< x-amz-content-sha256 as the client has it.
};

/// `request` has no body here. Compares in constant time.
/// Errors: kBadHeader  another region or service, or a field that had to be signed and is not;
///         kSkewed  beyond kClockSkew; kBadSignature.
[[nodiscard]] base::Result<Verified> verify_signature(const ShownSignature& shown,
                                                      const base::http::Request& request,
                                                      const base::Secret& secret,
                                                      std::string_view region, base::WallTime now);

}  // namespace lake::gateway
