#pragma once

// Reads the members of a payload, each within its bounds. The first that is
// missing or breaks its rule is kept, so that a reader is a plain list of
// members with one look at the end.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.h"
#include "toolserver/model/fault.h"

namespace tool::session {

/// The object outlives it. After a fault the values that it gives are empty.
class PayloadReader {
 public:
  static constexpr std::int64_t kMostInteger = (std::int64_t{1} << 53) - 1;
  static constexpr std::int64_t kLastTime = 1'000'000'000'000'000;

  PayloadReader(const base::json::Object& object, std::string path)
      : object_(object), path_(std::move(path)) {}

  /// A text of at most `max` bytes.
  std::string text(std::string_view name, std::size_t max);
  /// A text of at most `max` characters.
  std::string words(std::string_view name, std::size_t max);
  /// b64 of exactly `bytes` bytes, decoded.
  std::string bytes(std::string_view name, std::size_t bytes);
  /// An integer from `least` to `most`; to 2^53-1 without.
  std::int64_t integer(std::string_view name, std::int64_t least, std::int64_t most = kMostInteger);
  /// Milliseconds since 1970, for some thirty thousand years: a far end can still be
  /// counted in microseconds and added to.
  std::int64_t time(std::string_view name) { return integer(name, 0, kLastTime); }
  /// A list of `least` to `most` texts of at most `max` bytes.
  std::vector<std::string> texts(std::string_view name, std::size_t least, std::size_t most,
                                 std::size_t max);
  /// The 32 bytes of an Ed25519 public key, given as a JWK of crv, kty and x and
  /// no other member. Source: RFC 8037.
  std::string ed25519_key(std::string_view name);
  /// An object, or null after a fault.
  const base::json::Object* object(std::string_view name);
  [[nodiscard]] bool has(std::string_view name) const;
  void fail(std::string_view name, std::string_view rule);

  /// E_SHAPE for the first member that broke its rule.
  [[nodiscard]] const std::optional<Fault>& fault() const { return fault_; }

 private:
  [[nodiscard]] const base::json::Value* find(std::string_view name) const;

  const base::json::Object& object_;
  std::string path_;
  std::optional<Fault> fault_;
};

}  // namespace tool::session
