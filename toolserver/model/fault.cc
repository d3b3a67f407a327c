#include "toolserver/model/fault.h"

#include <algorithm>
#include <array>

namespace tool {
namespace {

struct Row {
  Code code;
  std::string_view name;
  int number;
  unsigned http;
  std::uint16_t close;
};

// Source: docs/wire-3.0.md, "Errors" and "Close codes".
constexpr std::array kRows = {
    Row{Code::kParse, "E_PARSE", 4000, 400, 4400},
    Row{Code::kShape, "E_SHAPE", 4001, 400, 4400},
    Row{Code::kOp, "E_OP", 4004, 404, 4400},
    Row{Code::kVersion, "E_VERSION", 4026, 400, 4426},
    Row{Code::kState, "E_STATE", 4009, 409, 4400},
    Row{Code::kAuth, "E_AUTH", 4010, 401, 4401},
    Row{Code::kExpired, "E_EXPIRED", 4011, 401, 4401},
    Row{Code::kScope, "E_SCOPE", 4031, 403, 4403},
    Row{Code::kPolicy, "E_POLICY", 4032, 403, 4403},
    Row{Code::kConsent, "E_CONSENT", 4033, 403, 4403},
    Row{Code::kReplay, "E_REPLAY", 4091, 401, 4409},
    Row{Code::kStale, "E_STALE", 4092, 401, 4409},
    Row{Code::kSignature, "E_SIG", 4093, 401, 4401},
    Row{Code::kTool, "E_TOOL", 4041, 404, 4400},
    Row{Code::kShadow, "E_SHADOW", 4042, 409, 4400},
    Row{Code::kPin, "E_PIN", 4043, 409, 4400},
    Row{Code::kLimit, "E_LIMIT", 4130, 413, 4413},
    Row{Code::kRate, "E_RATE", 4290, 429, 4429},
    Row{Code::kBusy, "E_BUSY", 5030, 503, 4503},
    Row{Code::kTimeout, "E_TIMEOUT", 4080, 504, 4408},
    Row{Code::kCancelled, "E_CANCELLED", 4990, 499, 4400},
    Row{Code::kUpstream, "E_UPSTREAM", 5020, 502, 4500},
    Row{Code::kInternal, "E_INTERNAL", 5000, 500, 4500},
};

constexpr bool rows_follow_codes() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].code != static_cast<Code>(i)) return false;
  }
  return kRows.size() == static_cast<std::size_t>(Code::kInternal) + 1;
}
static_assert(rows_follow_codes());

const Row& row(Code code) { return kRows[static_cast<std::size_t>(code)]; }

Code code_for(base::ErrorKind kind) {
  switch (kind) {
    case base::ErrorKind::kInvalid:
    case base::ErrorKind::kNotFound:
    case base::ErrorKind::kAlreadyExists:
    case base::ErrorKind::kConflict:
    case base::ErrorKind::kUnsupported: return Code::kShape;
    case base::ErrorKind::kUnauthenticated: return Code::kAuth;
    case base::ErrorKind::kForbidden: return Code::kPolicy;
    case base::ErrorKind::kTooLarge: return Code::kLimit;
    case base::ErrorKind::kRateLimited: return Code::kRate;
    case base::ErrorKind::kUnavailable:
    case base::ErrorKind::kOutcomeUnknown: return Code::kUpstream;
    case base::ErrorKind::kTimeout: return Code::kTimeout;
    case base::ErrorKind::kCancelled: return Code::kCancelled;
    case base::ErrorKind::kCorrupt:
    case base::ErrorKind::kInternal: return Code::kInternal;
  }
  return Code::kInternal;
}

}  // namespace

std::string_view name(Code code) { return row(code).name; }
int number(Code code) { return row(code).number; }
unsigned http_status(Code code) { return row(code).http; }
std::uint16_t close_code(Code code) { return row(code).close; }

std::optional<Code> code_of(std::string_view name) {
  const auto* found = std::ranges::find(kRows, name, &Row::name);
  if (found == kRows.end()) return std::nullopt;
  return found->code;
}

Fault to_fault(base::Error error) {
  return Fault{code_for(error.kind()), error.message(), std::nullopt, error.detail()};
}

}  // namespace tool
