#pragma once

// S3 names contents by their MD5, so we compute it where S3 asks for it. It
// proves nothing about who sent them; Signature Version 4 does.

#include <array>
#include <cstdint>
#include <string_view>

namespace lake::storage {

using Md5 = std::array<std::uint8_t, 16>;

/// Source: RFC 1321.
[[nodiscard]] Md5 md5(std::string_view bytes);

}  // namespace lake::storage
