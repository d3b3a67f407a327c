#pragma once

// The Authorization field of a request: a bearer token, or the name and secret of a client.
// Sources: RFC 6750, section 2.1; RFC 7617; RFC 6749, section 2.3.1.

#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "base/core/secret.h"
#include "base/http/message.h"

namespace lake::auth {

/// reason() of a request that shows nothing at all: its answer asks for a token and blames none.
inline constexpr std::string_view kNoToken = "no_token";

/// The bearer token, a part of `headers`. One under 8 KiB is in the form of a token.
/// Errors: kUnauthenticated  none (kNoToken), several fields, another scheme, other characters than
///         a token's, over 8 KiB. Messages never repeat the field.
[[nodiscard]] base::Result<std::string_view> bearer_of(const base::http::Headers& headers);

/// What a client shows of itself.
struct ShownClient {
  std::string id;
  base::Secret secret;
  /// The secret as it stood in the field, where decoding has changed it: some clients do not
  /// encode what they put there.
  std::optional<base::Secret> undecoded;
};

/// Name and secret by HTTP Basic; nothing where the field is absent or has another scheme.
/// Errors: kInvalid  several fields, no Base64, no ':', or broken encoding.
[[nodiscard]] base::Result<std::optional<ShownClient>> basic_of(const base::http::Headers& headers);

}  // namespace lake::auth
