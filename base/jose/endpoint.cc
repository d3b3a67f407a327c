#include "base/jose/endpoint.h"

#include <algorithm>

#include "base/core/loopback.h"

namespace base::jose {
namespace {

constexpr std::size_t kMaxUrlBytes = 2048;

bool is_url_character(char c) { return c > 0x20 && c < 0x7f && c != '#' && c != '\\' && c != '"'; }

}  // namespace

Result<Endpoint> Endpoint::parse(std::string_view url, PlainHttp plain) {
  auto scheme_end = url.find("://");
  if (url.size() > kMaxUrlBytes || scheme_end == std::string_view::npos ||
      !std::ranges::all_of(url, is_url_character)) {
    return fail(ErrorKind::kInvalid, "must be an https URL of at most 2048 characters");
  }
  auto authority_end = std::min(url.find_first_of("/?", scheme_end + 3), url.size());
  Endpoint out;
  ASSIGN_OR_RETURN(out.origin, http::Origin::parse(url.substr(0, authority_end)));
  if (!out.origin.encrypted &&
      (plain != PlainHttp::kOnLoopbackForTests || !is_loopback_address(out.origin.host))) {
    return fail(ErrorKind::kInvalid, "must be an https URL");
  }
  out.target = url.substr(authority_end);
  if (!out.target.starts_with('/')) out.target.insert(0, "/");
  return out;
}

}  // namespace base::jose
