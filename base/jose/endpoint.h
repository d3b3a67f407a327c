#pragma once

// An address of an identity provider, from the configuration. Tokens and keys
// travel there, so it is HTTPS; plain HTTP is for tests on this machine only.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "base/http/client.h"

namespace base::jose {

enum class PlainHttp : std::uint8_t {
  kRefused,
  /// http:// to a literal loopback address (127.0.0.0/8 or [::1]), for tests.
  kOnLoopbackForTests,
};

struct Endpoint {
  http::Origin origin;
  std::string target;  ///< Path and query; "/" when the URL has none.

  /// An absolute https URL without user name and fragment, at most 2,048
  /// characters of printable ASCII.
  /// Errors: kInvalid  not such a URL, or plain HTTP where it is refused.
  [[nodiscard]] static Result<Endpoint> parse(std::string_view url, PlainHttp plain);
};

}  // namespace base::jose
