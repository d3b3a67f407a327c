#pragma once

// Results instead of exceptions: a function that can fail says so in its type,
// and the compiler refuses a caller that drops the answer.

#include <expected>
#include <utility>

#include "base/core/error.h"

namespace base {

/// std::expected<T, Error> that must not be discarded.
template <class T>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using std::expected<T, Error>::expected;
  Result(Error error) : std::expected<T, Error>(std::unexpected(std::move(error))) {}
};

template <>
class [[nodiscard]] Result<void> : public std::expected<void, Error> {
 public:
  using std::expected<void, Error>::expected;
  Result(Error error) : std::expected<void, Error>(std::unexpected(std::move(error))) {}
};

/// A result that carries no value.
using Status = Result<void>;

/// Makes the error of a result: `return fail(ErrorKind::kInvalid, "...")`.
[[nodiscard]] inline Error fail(ErrorKind kind, std::string message) {
  return Error(kind, std::move(message));
}

}  // namespace base

#define BASE_CONCAT_INNER(a, b) a##b
#define BASE_CONCAT(a, b) BASE_CONCAT_INNER(a, b)

#define BASE_ASSIGN_OR(keyword, tmp, lhs, ...) \
  auto tmp = (__VA_ARGS__);                    \
  if (!tmp) keyword std::move(tmp).error();    \
  lhs = std::move(*tmp)

/// `ASSIGN_OR_RETURN(auto x, f());` binds the value or returns the error.
#define ASSIGN_OR_RETURN(lhs, ...) \
  BASE_ASSIGN_OR(return, BASE_CONCAT(result_, __LINE__), lhs, __VA_ARGS__)

/// `RETURN_IF_ERROR(f());` returns the error, or goes on.
#define RETURN_IF_ERROR(...) \
  if (auto status_ = (__VA_ARGS__); !status_) return std::move(status_).error()

/// The coroutine twins: `CO_ASSIGN_OR_RETURN(auto x, co_await f());`
#define CO_ASSIGN_OR_RETURN(lhs, ...) \
  BASE_ASSIGN_OR(co_return, BASE_CONCAT(result_, __LINE__), lhs, __VA_ARGS__)
#define CO_RETURN_IF_ERROR(...) \
  if (auto status_ = (__VA_ARGS__); !status_) co_return std::move(status_).error()
