#pragma once

#include <string>
#include <string_view>

namespace lake::materialize {

/// The first 64 bits of SHA-256 as 16 hexadecimal digits: part of the names of
/// objects whose bytes are the same whoever makes them.
[[nodiscard]] std::string content_hash(std::string_view bytes);

}  // namespace lake::materialize
