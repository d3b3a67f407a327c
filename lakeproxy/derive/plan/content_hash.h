#pragma once

#include <string>
#include <string_view>

namespace lake::materialize {

/// SHA-256 as 64 hexadecimal digits.
[[nodiscard]] std::string content_sha256(std::string_view bytes);

/// The first 64 bits of it, 16 digits: part of the names of objects whose bytes
/// are the same whoever makes them.
[[nodiscard]] inline std::string_view hash_in_name(std::string_view sha256) {
  return sha256.substr(0, 16);
}
[[nodiscard]] inline std::string content_hash(std::string_view bytes) {
  return std::string(hash_in_name(content_sha256(bytes)));
}

}  // namespace lake::materialize
