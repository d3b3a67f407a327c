#pragma once

// How a container's blocks are compressed.
// Source: Apache Avro 1.12 specification, "Required Codecs", "Optional Codecs".

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace base::avro {

enum class Codec { kNull, kDeflate, kSnappy, kZstandard };

/// "null", "deflate", "snappy", "zstandard".
[[nodiscard]] std::string_view to_string(Codec codec);
[[nodiscard]] std::optional<Codec> parse_codec(std::string_view name);

/// The bytes of one block. The same input gives the same bytes.
[[nodiscard]] std::string compress(Codec codec, std::string_view data);

/// Undoes compress(), and never makes more than `limit` bytes on the way.
/// Errors: kCorrupt  not a whole block of that codec, or a wrong checksum;
///         kTooLarge  more than `limit` bytes.
[[nodiscard]] Result<std::string> decompress(Codec codec, std::string_view data, std::size_t limit);

}  // namespace base::avro
