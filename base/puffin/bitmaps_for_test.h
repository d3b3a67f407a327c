#pragma once

// Deletion vectors put together by hand, also such as no writer makes.

#include <zlib.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace base::puffin::testing {

inline std::string little(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

inline std::string big(std::uint32_t value) {
  std::string out = little(value, 4);
  return {out.rbegin(), out.rend()};
}

inline std::string blob_of(const std::string& bitmap) {
  std::string body = "\xd1\xd3\x39\x64" + bitmap;
  auto crc = ::crc32_z(0, reinterpret_cast<const Bytef*>(body.data()), body.size());
  return big(static_cast<std::uint32_t>(body.size())) + body + big(static_cast<std::uint32_t>(crc));
}

// One 32-bit bitmap with one container of an array.
inline std::string array_part(std::uint32_t high, std::vector<std::uint16_t> values,
                              std::uint16_t key = 0) {
  std::string out = little(high, 4) + little(12'346, 4) + little(1, 4) + little(key, 2) +
                    little(values.size() - 1, 2) + little(16, 4);
  for (auto value : values) out += little(value, 2);
  return out;
}

inline std::string runs_part(std::vector<std::pair<int, int>> runs, std::uint32_t cardinality) {
  std::string out = little(0, 4) + little(12'347, 4) + little(1, 1) + little(0, 2) +
                    little(cardinality - 1, 2) + little(runs.size(), 2);
  for (auto [start, more] : runs) {
    out += little(static_cast<std::uint64_t>(start), 2);
    out += little(static_cast<std::uint64_t>(more), 2);
  }
  return out;
}

inline std::string bitset_part(std::uint32_t cardinality, const std::string& bits) {
  return little(0, 4) + little(12'346, 4) + little(1, 4) + little(0, 2) +
         little(cardinality - 1, 2) + little(16, 4) + bits;
}

inline std::string map_of(std::vector<std::string> parts) {
  std::string out = little(parts.size(), 8);
  for (const auto& part : parts) out += part;
  return out;
}

}  // namespace base::puffin::testing
