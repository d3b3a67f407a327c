#pragma once

// The steps of Signature Version 4, for whoever signs in another form than Signer does, or checks
// what somebody else has signed. Signer stands on the same functions.
// Source: AWS IAM User Guide, "Create a signed AWS API request".

#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/http/message.h"
#include "lakeproxy/storage/sigv4.h"

namespace lake::storage {

inline constexpr std::string_view kSigningAlgorithm = "AWS4-HMAC-SHA256";

struct CanonicalHeaders {
  std::string lines;
  std::string names;  ///< As SignedHeaders has them.
};
/// Sorted, in lower case, with the spaces of their values trimmed. `host` stands in the place of a
/// Host field, which `headers` does not have.
[[nodiscard]] CanonicalHeaders canonical_headers(std::string_view host,
                                                 const base::http::Headers& headers);

struct CanonicalRequest {
  base::http::Method method = base::http::Method::kGet;
  std::string path;   ///< As canonical_path() has it.
  std::string query;  ///< As canonical_query() has it.
  CanonicalHeaders headers;
  std::string payload_hash;
};
[[nodiscard]] std::string to_text(const CanonicalRequest& request);

/// "20260131T235959Z".
[[nodiscard]] std::string signing_time(base::WallTime time);
/// "20260131/us-east-1/s3/aws4_request".
[[nodiscard]] std::string signing_scope(std::string_view day, std::string_view region,
                                        std::string_view service);
/// The key of one day, region and service: 32 bytes.
[[nodiscard]] std::string signing_key(std::string_view secret, std::string_view day,
                                      std::string_view region, std::string_view service);
/// The signature of a request, in hexadecimal.
[[nodiscard]] std::string signature_of(std::string_view key, std::string_view time,
                                       std::string_view scope, const CanonicalRequest& request);

}  // namespace lake::storage
