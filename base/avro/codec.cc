#include "base/avro/codec.h"

#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

namespace base::avro {
namespace {

// The fastest level: files are written on the path of a request.
constexpr int kDeflateLevel = 1;
constexpr int kZstandardLevel = 3;
constexpr int kRawDeflate = -15;
constexpr std::size_t kFirstChunk = 64 * 1024;
constexpr std::size_t kSnappyChecksumBytes = 4;
// Python's writers strip zlib's wrapper and leave some of its checksum behind.
constexpr uInt kChecksumRest = 4;

constexpr std::array<std::pair<std::string_view, Codec>, 4> kNames = {{
    {"null", Codec::kNull},
    {"deflate", Codec::kDeflate},
    {"snappy", Codec::kSnappy},
    {"zstandard", Codec::kZstandard},
}};

Error corrupt(const char* what) {
  return fail(ErrorKind::kCorrupt, std::string("Avro block: ") + what);
}
Error too_large() { return fail(ErrorKind::kTooLarge, "Avro block: unpacks to too many bytes"); }

Bytef* bytes_of(char* data) { return reinterpret_cast<Bytef*>(data); }
Bytef* bytes_of(const char* data) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(data));  // zlib does not write to its input
}

std::string deflate_block(std::string_view data) {
  z_stream stream{};
  deflateInit2(&stream, kDeflateLevel, Z_DEFLATED, kRawDeflate, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, data.size()), '\0');
  stream.next_in = bytes_of(data.data());
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = bytes_of(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);  // the bound makes one call enough
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

Result<std::string> inflate_block(std::string_view data, std::size_t limit) {
  if (data.size() > std::numeric_limits<uInt>::max()) return too_large();
  z_stream stream{};
  if (inflateInit2(&stream, kRawDeflate) != Z_OK) return corrupt("zlib did not start");
  std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&stream, inflateEnd);
  stream.next_in = bytes_of(data.data());
  stream.avail_in = static_cast<uInt>(data.size());
  std::string out;
  while (true) {
    // One byte beyond the limit tells a full buffer from an overflow.
    const std::size_t room = std::min(std::max(out.size() * 2, kFirstChunk), limit + 1);
    const std::size_t used = out.size();
    out.resize(room);
    stream.next_out = bytes_of(out.data() + used);
    stream.avail_out = static_cast<uInt>(room - used);
    const int code = inflate(&stream, Z_NO_FLUSH);
    out.resize(room - stream.avail_out);
    if (out.size() > limit) return too_large();
    if (code == Z_STREAM_END) break;
    if (code != Z_OK || stream.avail_out != 0) return corrupt("broken deflate data");
  }
  if (stream.avail_in > kChecksumRest) return corrupt("bytes behind the deflate data");
  return out;
}

std::string big_endian_crc(std::string_view data) {
  const auto crc = static_cast<std::uint32_t>(
      crc32_z(crc32_z(0, nullptr, 0), bytes_of(data.data()), data.size()));
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(crc >> shift));
  return out;
}

std::string snappy_block(std::string_view data) {
  std::string out;
  snappy::Compress(data.data(), data.size(), &out);
  return out + big_endian_crc(data);
}

Result<std::string> unsnappy_block(std::string_view data, std::size_t limit) {
  if (data.size() < kSnappyChecksumBytes) return corrupt("broken snappy data");
  const std::string_view packed = data.substr(0, data.size() - kSnappyChecksumBytes);
  std::size_t size = 0;
  if (!snappy::GetUncompressedLength(packed.data(), packed.size(), &size)) {
    return corrupt("broken snappy data");
  }
  if (size > limit) return too_large();
  if (!snappy::IsValidCompressedBuffer(packed.data(), packed.size())) {
    return corrupt("broken snappy data");
  }
  std::string out;
  snappy::Uncompress(packed.data(), packed.size(), &out);
  if (big_endian_crc(out) != data.substr(packed.size())) return corrupt("a wrong checksum");
  return out;
}

std::string zstandard_block(std::string_view data) {
  std::string out(ZSTD_compressBound(data.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), data.data(), data.size(), kZstandardLevel));
  return out;
}

// A frame need not say how much it holds, so the output grows as it comes.
Result<std::string> unzstandard_block(std::string_view data, std::size_t limit) {
  std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(),
                                                                       ZSTD_freeDStream);
  ZSTD_inBuffer in{data.data(), data.size(), 0};
  std::string out;
  while (true) {
    const std::size_t room = std::min(std::max(out.size() * 2, kFirstChunk), limit + 1);
    ZSTD_outBuffer piece{nullptr, room, out.size()};
    out.resize(room);
    piece.dst = out.data();
    const std::size_t code = ZSTD_decompressStream(stream.get(), &piece, &in);
    out.resize(piece.pos);
    if (ZSTD_isError(code) != 0) return corrupt("broken zstandard data");
    if (out.size() > limit) return too_large();
    if (code == 0) break;
    if (piece.pos < room) return corrupt("zstandard data cut off");
  }
  if (in.pos != in.size) return corrupt("bytes behind the zstandard data");
  return out;
}

}  // namespace

std::string_view to_string(Codec codec) {
  for (const auto& [name, value] : kNames) {
    if (value == codec) return name;
  }
  return "null";
}

std::optional<Codec> parse_codec(std::string_view name) {
  for (const auto& [text, codec] : kNames) {
    if (text == name) return codec;
  }
  return std::nullopt;
}

std::string compress(Codec codec, std::string_view data) {
  switch (codec) {
    case Codec::kNull: break;
    case Codec::kDeflate: return deflate_block(data);
    case Codec::kSnappy: return snappy_block(data);
    case Codec::kZstandard: return zstandard_block(data);
  }
  return std::string(data);
}

Result<std::string> decompress(Codec codec, std::string_view data, std::size_t limit) {
  switch (codec) {
    case Codec::kNull: break;
    case Codec::kDeflate: return inflate_block(data, limit);
    case Codec::kSnappy: return unsnappy_block(data, limit);
    case Codec::kZstandard: return unzstandard_block(data, limit);
  }
  if (data.size() > limit) return too_large();
  return std::string(data);
}

}  // namespace base::avro
