#include "base/gzip/pack.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>

namespace base::gzip {
namespace {

constexpr int kRawDeflate = -15;  // The largest window, and no wrapper of zlib's.
// Level 1 makes metadata of 1,000 snapshots eight times smaller; level 6 takes twice as long for
// nine times.
constexpr int kLevel = 1;
constexpr int kMemory = 8;  // zlib's default.
// Deflate, no name, no time, an unknown system.
constexpr std::string_view kHeader("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
constexpr std::size_t kFirstChunk = std::size_t{16} * 1024;
constexpr std::size_t kMostStored = 0xffff;  // Bytes of one stored block.
constexpr std::size_t kBlockHead = 5;        // Before them.

using Stream = std::unique_ptr<z_stream, int (*)(z_stream*)>;

void append_little_endian(std::string& out, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(number >> (8 * i) & 0xff);
}

std::uint32_t crc_of(std::string_view text) {
  return static_cast<std::uint32_t>(
      crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(text.data()), text.size()));
}

// Three bits say the kind of the block, and the rest of that byte is not used.
void append_stored(std::string& out, std::string_view text) {
  do {
    std::string_view part = text.substr(0, kMostStored);
    text.remove_prefix(part.size());
    out += text.empty() ? '\1' : '\0';
    append_little_endian(out, part.size(), 2);
    append_little_endian(out, ~part.size(), 2);
    out.append(part);
  } while (!text.empty());
}

}  // namespace

Result<OpenMember> pack(std::string_view text) {
  if (text.size() > std::numeric_limits<uInt>::max()) {
    return fail(ErrorKind::kTooLarge, "gzip: too many bytes to pack");
  }
  z_stream state{};
  if (deflateInit2(&state, kLevel, Z_DEFLATED, kRawDeflate, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
    return fail(ErrorKind::kInternal, "gzip: zlib did not start");
  }
  const Stream stream(&state, deflateEnd);
  // zlib does not write to its input.
  stream->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream->avail_in = static_cast<uInt>(text.size());
  OpenMember member{.bytes = std::string(kHeader), .crc = crc_of(text), .size = text.size()};
  std::size_t used = member.bytes.size();
  do {
    const std::size_t more = std::clamp(used, kFirstChunk, std::size_t{1} << 30);
    member.bytes.resize(used + more);
    stream->next_out = reinterpret_cast<Bytef*>(member.bytes.data() + used);
    stream->avail_out = static_cast<uInt>(more);
    // Ends at a whole byte, and leaves the block to come to whoever follows.
    if (deflate(stream.get(), Z_SYNC_FLUSH) == Z_STREAM_ERROR) {
      return fail(ErrorKind::kInternal, "gzip: zlib stopped");
    }
    used = member.bytes.size() - stream->avail_out;
  } while (stream->avail_out == 0);
  member.bytes.resize(used);
  return member;
}

Tail::Tail(std::string_view text)
    : size_(text.size()),
      crc_(crc_of(text)),
      combine_(crc32_combine_gen(static_cast<z_off_t>(text.size()))) {
  stored_.reserve(text.size() + (text.size() / kMostStored + 1) * kBlockHead);
  append_stored(stored_, text);
}

std::string Tail::after(const OpenMember& begun) const {
  constexpr std::size_t kEnd = 8;
  std::string out;
  out.reserve(stored_.size() + kEnd);
  out.append(stored_);
  append_little_endian(out, crc32_combine_op(begun.crc, crc_, combine_), 4);
  append_little_endian(out, begun.size + size_, 4);
  return out;
}

}  // namespace base::gzip
