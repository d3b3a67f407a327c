#include "lakeproxy/materialize/puffin/deletion_vector.h"

#include <zlib.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/json/json.h"
#include "lakeproxy/materialize/puffin/roaring.h"

namespace lake::materialize {
namespace {

using base::ErrorKind;
using base::fail;

constexpr std::string_view kVectorMagic = "\xd1\xd3\x39\x64";
constexpr std::size_t kNumberBytes = 4;
// Payload size, flags and magic end the file; another magic begins the footer.
constexpr std::size_t kFooterEnd = 3 * kNumberBytes;
constexpr std::size_t kMostFooter = 1 << 20;
constexpr std::size_t kMostBlobs = 10'000;

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

std::uint32_t little_endian(std::string_view bytes) { return __builtin_bswap32(big_endian(bytes)); }

std::uint32_t crc32_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

base::Result<std::string_view> footer_payload(std::string_view bytes) {
  if (bytes.size() < 2 * kPuffinMagic.size() + kFooterEnd || !bytes.ends_with(kPuffinMagic)) {
    return corrupt("a Puffin file ends early");
  }
  std::string_view end = bytes.substr(bytes.size() - kFooterEnd);
  std::size_t size = little_endian(end);
  if (size > kMostFooter || size > bytes.size() - kFooterEnd - 2 * kPuffinMagic.size()) {
    return corrupt("a Puffin file's footer is longer than may be");
  }
  if (little_endian(end.substr(kNumberBytes)) != 0) {
    return fail(ErrorKind::kUnsupported, "a Puffin file's footer is compressed");
  }
  std::size_t begin = bytes.size() - kFooterEnd - size;
  if (bytes.substr(begin - kPuffinMagic.size(), kPuffinMagic.size()) != kPuffinMagic) {
    return corrupt("a Puffin file's footer does not begin as one");
  }
  return bytes.substr(begin, size);
}

std::optional<std::uint64_t> unsigned_field(const base::json::Object& object,
                                            std::string_view name) {
  const auto* value = object.if_contains(name);
  if (value == nullptr || !value->is_int64() || value->get_int64() < 0) return std::nullopt;
  return static_cast<std::uint64_t>(value->get_int64());
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
  auto offset = unsigned_field(*blob, "offset");
  auto length = unsigned_field(*blob, "length");
  if (!offset || !length || *offset > file.size() || *length > file.size() - *offset) {
    return corrupt("a Puffin footer's blob lies outside the file");
  }
  // Or one vector, listed many times over, would keep us busy for long.
  if (*length > bytes_left) return corrupt("a Puffin footer's blobs overlap");
  bytes_left -= *length;
  return read_deletion_vector(file.substr(*offset, *length), limit);
}

base::Result<std::vector<std::int64_t>> read_puffin(std::string_view bytes, std::size_t limit) {
  ASSIGN_OR_RETURN(std::string_view payload, footer_payload(bytes));
  auto footer = base::json::parse(payload, {.bytes = kMostFooter, .depth = 16});
  if (!footer) {
    return corrupt("a Puffin file's footer is not JSON").with_detail(footer.error().message());
  }
  const auto* object = footer->if_object();
  const auto* blobs = object == nullptr ? nullptr : object->if_contains("blobs");
  if (blobs == nullptr || !blobs->is_array() || blobs->get_array().size() > kMostBlobs) {
    return corrupt("a Puffin file's footer lists no blobs");
  }
  std::vector<std::int64_t> positions;
  std::uint64_t bytes_left = bytes.size();
  for (const auto& blob : blobs->get_array()) {
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
