#include "lakeproxy/iceberg/puffin/puffin_footer.h"

#include "lakeproxy/iceberg/puffin/deletion_vector.h"

namespace lake::materialize {
namespace {

using base::ErrorKind;
using base::fail;

constexpr std::size_t kNumberBytes = 4;
// Payload size, flags and magic end the file; another magic begins the footer.
constexpr std::size_t kFooterEnd = 3 * kNumberBytes;
// Of our own files, which have a vector for each data file with deletes.
constexpr FooterLimits kOwn{.bytes = 256 << 20, .blobs = 1'000'000};

base::Error corrupt(const char* message) { return fail(ErrorKind::kCorrupt, message); }

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = kNumberBytes; i-- > 0;) {
    value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  }
  return value;
}

base::Result<std::string_view> footer_payload(std::string_view bytes, std::size_t most) {
  if (bytes.size() < 2 * kPuffinMagic.size() + kFooterEnd || !bytes.ends_with(kPuffinMagic)) {
    return corrupt("a Puffin file ends early");
  }
  std::string_view end = bytes.substr(bytes.size() - kFooterEnd);
  std::size_t size = little_endian(end);
  if (size > most || size > bytes.size() - kFooterEnd - 2 * kPuffinMagic.size()) {
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

std::optional<std::string> data_file_of(const base::json::Object& blob) {
  const auto* properties = blob.if_contains("properties");
  if (properties == nullptr || !properties->is_object()) return std::nullopt;
  const auto* name = properties->get_object().if_contains("referenced-data-file");
  if (name == nullptr || !name->is_string()) return std::nullopt;
  return std::string(name->get_string());
}

}  // namespace

base::Result<base::json::Array> read_puffin_footer(std::string_view bytes, FooterLimits limits) {
  ASSIGN_OR_RETURN(std::string_view payload, footer_payload(bytes, limits.bytes));
  auto footer = base::json::parse(payload, {.bytes = limits.bytes, .depth = 16});
  if (!footer) {
    return corrupt("a Puffin file's footer is not JSON").with_detail(footer.error().message());
  }
  auto* object = footer->if_object();
  auto* blobs = object == nullptr ? nullptr : object->if_contains("blobs");
  if (blobs == nullptr || !blobs->is_array() || blobs->get_array().size() > limits.blobs) {
    return corrupt("a Puffin file's footer lists no blobs");
  }
  return std::move(blobs->get_array());
}

std::optional<BlobPlace> place_of_blob(const base::json::Object& blob, std::size_t size) {
  auto offset = unsigned_field(blob, "offset");
  auto length = unsigned_field(blob, "length");
  if (!offset || !length || *offset > size || *length > size - *offset) return std::nullopt;
  return BlobPlace{static_cast<std::int64_t>(*offset), static_cast<std::int64_t>(*length)};
}

base::Result<std::vector<PlacedVector>> read_placed_vectors(std::string_view bytes) {
  ASSIGN_OR_RETURN(auto blobs, read_puffin_footer(bytes, kOwn));
  std::vector<PlacedVector> vectors;
  for (const auto& value : blobs) {
    const auto* blob = value.if_object();
    auto data_file = blob == nullptr ? std::nullopt : data_file_of(*blob);
    auto place = blob == nullptr ? std::nullopt : place_of_blob(*blob, bytes.size());
    if (!data_file || !place) return corrupt("a Puffin file of ours describes no deletion vector");
    vectors.push_back({std::move(*data_file), *place});
  }
  return vectors;
}

}  // namespace lake::materialize
