#include "base/avro/container_writer.h"

#include <openssl/evp.h>

#include <algorithm>
#include <optional>

namespace base::avro {
namespace {

// As large as the blocks that the reference writer makes.
constexpr std::size_t kBlockBytes = 64 * 1024;

std::string header_map(std::string_view schema, const Metadata& metadata,
                       std::optional<Codec> codec) {
  Encoder out;
  out.put_block(metadata.size() + (codec ? 2 : 1));
  out.put_bytes("avro.schema");
  out.put_bytes(schema);
  if (codec) {
    out.put_bytes("avro.codec");
    out.put_bytes(to_string(*codec));
  }
  for (const auto& [key, value] : metadata) {
    out.put_bytes(key);
    out.put_bytes(value);
  }
  out.put_end();
  return out.take();
}

ContainerHeader header_with(std::string_view schema, const Metadata& metadata, Codec codec,
                            SyncMarker sync) {
  ContainerHeader header{.bytes = "Obj\x01", .sync = sync, .codec = codec};
  header.bytes += header_map(schema, metadata, codec);
  header.bytes.append(sync.data(), sync.size());
  return header;
}

}  // namespace

SyncMarker derive_sync_marker(std::string_view schema, const Metadata& metadata) {
  const std::string text = header_map(schema, metadata, std::nullopt);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  // Cannot fail: SHA-256 is always there and the buffer is large enough.
  EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  SyncMarker sync{};
  std::copy_n(digest.begin(), sync.size(), sync.begin());
  return sync;
}

ContainerHeader make_container_header(std::string_view schema, const Metadata& metadata,
                                      Codec codec) {
  return header_with(schema, metadata, codec, derive_sync_marker(schema, metadata));
}

ContainerWriter::ContainerWriter(const ContainerHeader& header)
    : codec_(header.codec), sync_(header.sync), file_(header.bytes) {}

ContainerWriter::ContainerWriter(std::string_view schema, const Metadata& metadata, Codec codec)
    : ContainerWriter(make_container_header(schema, metadata, codec)) {}

ContainerWriter::ContainerWriter(std::string_view schema, const Metadata& metadata, Codec codec,
                                 SyncMarker sync)
    : ContainerWriter(header_with(schema, metadata, codec, sync)) {}

void ContainerWriter::end_datum() {
  ++count_;
  if (block_.buffer().size() >= kBlockBytes) flush();
}

void ContainerWriter::flush() {
  if (count_ == 0) return;
  Encoder head;
  head.put_long(count_);
  if (codec_ == Codec::kNull) {
    head.put_bytes(block_.buffer());
  } else {
    head.put_bytes(compress(codec_, block_.buffer()));
  }
  file_ += head.buffer();
  file_.append(sync_.data(), sync_.size());
  block_.clear();
  count_ = 0;
}

std::string ContainerWriter::finish() && {
  flush();
  return std::move(file_);
}

}  // namespace base::avro
