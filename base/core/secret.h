#pragma once

// A password that can be printed will be printed. Secret has no conversion to
// a stream, to a formatter or to JSON; reveal() is the one way out, easy to
// find in a review. The bytes are wiped when the last copy goes.

#include <string>
#include <string_view>

namespace base {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  Secret(const Secret&) = default;
  Secret(Secret&&) noexcept = default;
  Secret& operator=(const Secret&) = default;
  Secret& operator=(Secret&&) noexcept = default;
  ~Secret();

  [[nodiscard]] bool empty() const { return value_.empty(); }
  /// The bytes themselves: for the call that needs them, never for a log.
  [[nodiscard]] const std::string& reveal() const { return value_; }
  /// Compares in time that does not depend on where the values differ.
  [[nodiscard]] bool equals(std::string_view other) const;

 private:
  std::string value_;
};

}  // namespace base
