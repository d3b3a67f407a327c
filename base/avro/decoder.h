#pragma once

// Decodes data by the schema they were written with. Every length and count
// comes from a stranger: each is checked against the bytes that are left, and
// values that take no bytes at all (nulls, empty records) against a budget.
// Source: Apache Avro 1.12 specification, "Binary Encoding".

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/avro/schema.h"
#include "base/avro/value.h"
#include "base/core/result.h"

namespace base::avro {

struct DecodeLimits {
  std::size_t depth = 64;                  ///< Values inside values.
  std::size_t datum_values = 4'000'000;    ///< In one datum.
  std::size_t total_values = 250'000'000;  ///< In all data of one decoder.
};

class Decoder {
 public:
  explicit Decoder(DecodeLimits limits = {}) : limits_(limits) {}

  /// Decodes one datum from the front of `input` and moves `input` behind it.
  /// The value points into `input`'s bytes and into this decoder; it stands
  /// until the next call.
  /// Errors: kCorrupt  the bytes do not follow the schema; kTooLarge  over a limit.
  [[nodiscard]] Result<Value> decode(const Node& schema, std::string_view& input);

 private:
  DecodeLimits limits_;
  std::size_t total_ = 0;
  std::vector<Cell> cells_;
};

/// A zig-zag varint from the front of `input`, which moves behind it; nothing
/// when it is cut off or over 64 bits.
[[nodiscard]] std::optional<std::int64_t> take_long(std::string_view& input);

}  // namespace base::avro
