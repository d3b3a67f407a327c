#pragma once

// Temporary keys from a store's Security Token Service: an AssumeRole with a policy that cuts the
// keys of this session down to what it says.
// Source: AWS Security Token Service API Reference, 2011-06-15, "AssumeRole"; MinIO and Ceph RGW
// answer the same request on the S3 endpoint.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/core/secret.h"
#include "base/http/client.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/storage/sigv4.h"

namespace lake::storage {

struct StsOptions {
  std::string endpoint;  ///< "https://sts.eu-west-1.amazonaws.com"
  std::string region = "us-east-1";
  Credentials credentials;  ///< Of whoever may assume the role.
  std::string role_arn;
  std::chrono::seconds duration{3600};  ///< That is asked for, 900 to 43,200.
  base::http::ClientOptions client = {};
};

struct AssumeRole {
  std::string session_name;  ///< As logs of the store show it; see session_name().
  std::string policy;        ///< Compact JSON.
  /// Seconds that are enough, 900 or more; nothing: as many as the service's options say.
  std::optional<std::chrono::seconds> enough = {};
};

struct TemporaryKeys {
  Credentials credentials;
  base::WallTime expires;
};

/// A name for the session of that caller: of letters that STS takes, 64 at most, and another one
/// for another caller.
[[nodiscard]] std::string session_name(std::string_view issuer, std::string_view subject);

/// The form of a request, as it is signed and sent.
[[nodiscard]] std::string assume_role_form(const StsOptions& options, const AssumeRole& request,
                                           std::chrono::seconds duration);
/// The keys in an answer. Errors: kCorrupt  it is no such answer.
[[nodiscard]] base::Result<TemporaryKeys> read_assume_role(std::string_view document);

/// One event loop's.
class StsClient {
 public:
  /// `clock` outlives it. Errors: kInvalid  the endpoint.
  [[nodiscard]] static base::Result<std::unique_ptr<StsClient>> create(StsOptions options,
                                                                       const base::Clock& clock);

  /// Keys for one session, for options.duration or what is enough, whichever is shorter. Where the
  /// role allows less, it is asked for an hour, once, and so from then on.
  /// Errors: kUnavailable  no answer within ten seconds, or STS refuses: the detail has its code.
  ///         Never a key that is cut to less than `request.policy`.
  [[nodiscard]] base::Task<base::Result<TemporaryKeys>> assume(base::RequestContext context,
                                                               AssumeRole request);

 private:
  StsClient(StsOptions options, base::http::Origin origin, const base::Clock& clock);
  base::Task<base::Result<base::http::Response>> ask(base::RequestContext context,
                                                     const AssumeRole* request,
                                                     std::chrono::seconds duration);
  [[nodiscard]] base::http::ClientRequest sign(std::string form);

  StsOptions options_;
  std::string host_;
  Signer signer_;
  const base::Clock& clock_;
  std::unique_ptr<base::http::Client> client_;
  std::chrono::seconds duration_;  ///< That the role is known to allow, or hoped to.
};

}  // namespace lake::storage
