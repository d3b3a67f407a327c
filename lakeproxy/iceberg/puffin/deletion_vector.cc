#include "lakeproxy/iceberg/puffin/deletion_vector.h"

#include <zlib.h>

#include <algorithm>
#include <string>

#include "lakeproxy/iceberg/puffin/puffin_footer.h"
#include "lakeproxy/iceberg/puffin/roaring.h"

namespace lake::materialize {
namespace {

using base::ErrorKind;
using base::fail;

constexpr std::string_view kVectorMagic = "\xd1\xd3\x39\x64";
constexpr std::size_t kNumberBytes = 4;

base::Error corrupt(const char* message) { return fail(ErrorKind::kCorrupt, message); }

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

base::Result<std::vector<std::int64_t>> read_blob(std::string_view file,
                                                  const base::json::Value& value, std::size_t limit,
                                                  std::uint64_t& bytes_left) {
  const auto* blob = value.if_object();
  if (blob == nullptr) return corrupt("a Puffin footer's blob is not an object");
  const auto* type = blob->if_contains("type");
  if (type == nullptr || !type->is_string()) return corrupt("a Puffin footer's blob has no type");
  if (std::string_view(type->get_string()) != kDeletionVectorType)
    return std::vector<std::int64_t>{};
  const auto* codec = blob->if_contains("compression-codec");
  if (codec != nullptr && !codec->is_null()) {
    return fail(ErrorKind::kUnsupported, "a deletion vector is compressed");
  }
  const auto* properties = blob->if_contains("properties");
  if (properties != nullptr && properties->is_object() &&
      properties->get_object().contains("ducklake-snapshot-id")) {
    return fail(ErrorKind::kUnsupported, "a delete file holds deletes of several snapshots");
  }
  auto place = place_of_blob(*blob, file.size());
  if (!place) return corrupt("a Puffin footer's blob lies outside the file");
  const auto offset = static_cast<std::size_t>(place->offset);
  const auto length = static_cast<std::size_t>(place->length);
  // Or one vector, listed many times over, would keep us busy for long.
  if (length > bytes_left) return corrupt("a Puffin footer's blobs overlap");
  bytes_left -= length;
  return read_deletion_vector(file.substr(offset, length), limit);
}

base::Result<std::vector<std::int64_t>> read_puffin(std::string_view bytes, std::size_t limit) {
  ASSIGN_OR_RETURN(auto blobs, read_puffin_footer(bytes));
  std::vector<std::int64_t> positions;
  std::uint64_t bytes_left = bytes.size();
  for (const auto& blob : blobs) {
    ASSIGN_OR_RETURN(auto more, read_blob(bytes, blob, limit - positions.size(), bytes_left));
    positions.insert(positions.end(), more.begin(), more.end());
  }
  std::ranges::sort(positions);
  positions.erase(std::ranges::unique(positions).begin(), positions.end());
  return positions;
}

}  // namespace

// Length of magic and bitmap, magic, bitmap, checksum of magic and bitmap.
base::Result<std::vector<std::int64_t>> read_deletion_vector(std::string_view blob,
                                                             std::size_t limit) {
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

base::Result<std::vector<std::int64_t>> read_deletion_vectors(std::string_view bytes,
                                                              std::size_t limit) {
  // A bare vector begins with its length, which "PFA1" would give as 1.3 GB.
  if (bytes.starts_with(kPuffinMagic)) return read_puffin(bytes, limit);
  return read_deletion_vector(bytes, limit);
}

}  // namespace lake::materialize
