#pragma once

// What a caller of a tool is told when it does not get an answer. The codes
// are the wire's own; each names one row of the table in docs/wire-3.0.md,
// section "Errors", and this file is the only place that turns one into a
// number, an HTTP status or a close code.

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/error.h"

namespace tool {

enum class Code : std::uint8_t {
  kParse,      ///< Not JSON of our kind; the connection is closed.
  kShape,      ///< A member is missing or breaks its rule; correct it.
  kOp,         ///< No such operation.
  kVersion,    ///< No version in common.
  kState,      ///< Not allowed in this state; the connection is closed.
  kAuth,       ///< No or bad credentials.
  kExpired,    ///< The credential is out of its time; authenticate again.
  kScope,      ///< The token does not carry the scope.
  kPolicy,     ///< A rule forbids it; do not retry.
  kConsent,    ///< Nobody agreed to it.
  kReplay,     ///< Seen before.
  kStale,      ///< Outside the freshness window, or from before start-up.
  kSignature,  ///< The signature or tag is wrong.
  kTool,       ///< No such tool, or none that this caller may know.
  kShadow,     ///< The name is taken by another capability.
  kPin,        ///< The tool has changed and was not approved again.
  kLimit,      ///< Over a size or count; send or ask less.
  kRate,       ///< Too many calls; retry after retry_after.
  kBusy,       ///< No room just now; nothing was done; retry later.
  kTimeout,    ///< The deadline passed.
  kCancelled,  ///< The caller asked for it to end.
  kUpstream,   ///< Something behind the tool failed.
  kInternal,   ///< A defect on our side.
};

/// "E_SCOPE".
[[nodiscard]] std::string_view name(Code code);
/// 4031: the wire's `num`.
[[nodiscard]] int number(Code code);
[[nodiscard]] unsigned http_status(Code code);
/// The WebSocket close code of a connection that ends because of it.
[[nodiscard]] std::uint16_t close_code(Code code);
/// The code of a wire name; nothing when there is none.
[[nodiscard]] std::optional<Code> code_of(std::string_view name);

/// A refusal. `message` is for the caller: it names the field and the rule and
/// tells nothing that the caller may not know. `detail` is for the logs.
struct Fault {
  Code code = Code::kInternal;
  std::string message;
  std::optional<std::chrono::milliseconds> retry_after;
  std::string detail;
};

template <class T>
class [[nodiscard]] Outcome : public std::expected<T, Fault> {
 public:
  using std::expected<T, Fault>::expected;
  Outcome(Fault fault) : std::expected<T, Fault>(std::unexpected(std::move(fault))) {}
};
template <>
class [[nodiscard]] Outcome<void> : public std::expected<void, Fault> {
 public:
  using std::expected<void, Fault>::expected;
  Outcome(Fault fault) : std::expected<void, Fault>(std::unexpected(std::move(fault))) {}
};

[[nodiscard]] inline Fault refuse(Code code, std::string message) {
  return Fault{code, std::move(message), std::nullopt, {}};
}

/// What a base error is on the wire: kInvalid E_SHAPE, kForbidden E_POLICY,
/// kTooLarge E_LIMIT, kTimeout E_TIMEOUT, kUnavailable E_UPSTREAM, and so on.
/// kNotFound, kAlreadyExists, kConflict and kUnsupported are E_SHAPE: an
/// argument names something that cannot be used so.
[[nodiscard]] Fault to_fault(base::Error error);

}  // namespace tool
