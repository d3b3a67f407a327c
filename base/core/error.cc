#include "base/core/error.h"

#include <utility>

namespace base {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid: return "invalid";
    case ErrorKind::kUnauthenticated: return "unauthenticated";
    case ErrorKind::kForbidden: return "forbidden";
    case ErrorKind::kNotFound: return "not_found";
    case ErrorKind::kAlreadyExists: return "already_exists";
    case ErrorKind::kConflict: return "conflict";
    case ErrorKind::kTooLarge: return "too_large";
    case ErrorKind::kUnsupported: return "unsupported";
    case ErrorKind::kRateLimited: return "rate_limited";
    case ErrorKind::kUnavailable: return "unavailable";
    case ErrorKind::kTimeout: return "timeout";
    case ErrorKind::kOutcomeUnknown: return "outcome_unknown";
    case ErrorKind::kCancelled: return "cancelled";
    case ErrorKind::kCorrupt: return "corrupt";
    case ErrorKind::kInternal: return "internal";
  }
  std::unreachable();
}

Error Error::with_context(std::string_view where) && {
  message_.insert(0, std::string(where) + ": ");
  return std::move(*this);
}

}  // namespace base
