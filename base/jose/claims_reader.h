#pragma once

// For this folder's own sources: the payload of a token whose signature is right
// becomes Claims, or is refused.

#include "base/jose/jwt.h"

namespace base::jose {

class ClaimsReader {
 public:
  /// Errors: kUnauthenticated  as jose::verify, from kIssuer on.
  [[nodiscard]] static Result<Claims> read(std::string_view payload, const std::string& kid,
                                           const Rules& rules, WallTime now);

 private:
  /// The registered claims in their types. Source: RFC 7519, section 4.1.
  [[nodiscard]] static Result<Claims> read_shape(std::string_view payload);
};

}  // namespace base::jose
