#pragma once

// A caller that gets an error asks one question: what do I do now? The kind
// answers it. The message is for the person who sent the request and never
// holds a secret or an inner detail; those go into detail(), which only logs
// show.

#include <string>
#include <string_view>

namespace base {

/// What the caller can do about a failure.
enum class ErrorKind {
  kInvalid,          ///< The input breaks a rule; correct it, do not retry as is.
  kUnauthenticated,  ///< No or bad credentials; authenticate and retry.
  kForbidden,        ///< Known caller, not allowed; do not retry.
  kNotFound,         ///< The named thing does not exist.
  kAlreadyExists,    ///< The name is taken; choose another.
  kConflict,         ///< The state the request stood on has changed; read again, then retry.
  kTooLarge,         ///< Over a size, depth or count limit; send less.
  kUnsupported,      ///< Understood, and not offered here; do not retry.
  kRateLimited,      ///< Too many requests; retry after a pause.
  kUnavailable,      ///< A server behind us is away; nothing was changed, retry later.
  kTimeout,          ///< The deadline passed; nothing was changed.
  kOutcomeUnknown,   ///< The change may or may not have happened; read before repeating it.
  kCancelled,        ///< The caller went away.
  kCorrupt,          ///< Stored data breaks its own format; an operator must look.
  kInternal,         ///< A defect on our side.
};

/// Name of a kind for logs and metrics, e.g. "not_found".
[[nodiscard]] std::string_view to_string(ErrorKind kind);

class Error {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  [[nodiscard]] ErrorKind kind() const { return kind_; }
  /// For the caller. Names the field and the rule.
  [[nodiscard]] const std::string& message() const { return message_; }
  /// For logs only: SQLSTATE, errno text, an upstream's answer. No secrets.
  [[nodiscard]] const std::string& detail() const { return detail_; }
  /// A machine-readable word that tells two errors of one kind apart, such as
  /// which of several named things was not found. Always a literal.
  [[nodiscard]] std::string_view reason() const { return reason_; }

  Error with_detail(std::string detail) && {
    detail_ = std::move(detail);
    return std::move(*this);
  }
  /// `reason` must have static storage duration.
  Error with_reason(std::string_view reason) && {
    reason_ = reason;
    return std::move(*this);
  }
  /// Puts `where` and ": " before the message, e.g. the path of a JSON field.
  Error with_context(std::string_view where) &&;

 private:
  ErrorKind kind_;
  std::string message_;
  std::string detail_;
  std::string_view reason_;
};

}  // namespace base
