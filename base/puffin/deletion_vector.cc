#include "base/puffin/deletion_vector.h"

#include <zlib.h>

#include "base/puffin/roaring.h"

namespace base::puffin {
namespace {

constexpr std::string_view kVectorMagic = "\xd1\xd3\x39\x64";
constexpr std::size_t kNumberBytes = 4;

Error corrupt(const char* message) { return fail(ErrorKind::kCorrupt, message); }

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < kNumberBytes; ++i) {
    value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  }
  return value;
}

std::string big_endian_bytes(std::uint32_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
  return out;
}

std::uint32_t crc32_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

// Length of magic and bitmap, magic, bitmap, checksum of magic and bitmap.
Result<std::vector<std::int64_t>> read_deletion_vector(std::string_view blob, std::size_t limit) {
  if (blob.size() < 2 * kNumberBytes + kVectorMagic.size()) {
    return corrupt("a deletion vector ends early");
  }
  if (big_endian(blob) != blob.size() - 2 * kNumberBytes) {
    return corrupt("a deletion vector's length is wrong");
  }
  std::string_view body = blob.substr(kNumberBytes, blob.size() - 2 * kNumberBytes);
  if (!body.starts_with(kVectorMagic)) return corrupt("a deletion vector's magic is wrong");
  if (big_endian(blob.substr(blob.size() - kNumberBytes)) != crc32_of(body)) {
    return corrupt("a deletion vector's checksum is wrong");
  }
  return read_roaring64(body.substr(kVectorMagic.size()), limit);
}

std::string write_deletion_vector(std::span<const std::int64_t> positions) {
  std::string body(kVectorMagic);
  body += write_roaring64(positions);
  // The sparsest vector of so many positions is far below the 4 GiB of a length.
  return big_endian_bytes(static_cast<std::uint32_t>(body.size())) + body +
         big_endian_bytes(crc32_of(body));
}

}  // namespace base::puffin
