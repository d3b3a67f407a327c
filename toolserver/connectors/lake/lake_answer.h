#pragma once

// What a lake answers in place of what was asked for: something that the caller reads and corrects,
// or a refusal of the call.

#include <expected>
#include <string>
#include <utility>

#include "base/http/message.h"
#include "toolserver/model/fault.h"

namespace tool::lake {

struct LakeError {
  Fault fault;
  bool is_mistake = false;  ///< A result with is_error, of fault.message.
};
template <class T>
class [[nodiscard]] LakeAnswer : public std::expected<T, LakeError> {
 public:
  using std::expected<T, LakeError>::expected;
  LakeAnswer(LakeError error) : std::expected<T, LakeError>(std::unexpected(std::move(error))) {}
};

[[nodiscard]] inline LakeError mistake(std::string message) {
  return {refuse(Code::kShape, std::move(message)), true};
}
[[nodiscard]] inline LakeError refused(Code code, std::string message, std::string detail = {}) {
  return {Fault{code, std::move(message), std::nullopt, std::move(detail)}};
}

/// Of an answer that is none of 2xx: 403 is E_POLICY; 429 and 503 E_BUSY with the lake's message
/// and Retry-After, so that a caller knows what is being made for it; 400, 404, 409, 413 and 501 a
/// mistake; all else E_UPSTREAM.
[[nodiscard]] LakeError error_of(const base::http::Response& response);
/// Of a request that was not answered.
[[nodiscard]] LakeError error_of(const base::Error& error);

}  // namespace tool::lake
