#include "base/gzip/gunzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>

namespace base::gzip {
namespace {

constexpr int kGzipOnly = 15 + 16;  // the largest window, and no other wrapper
constexpr std::size_t kFirstChunk = 64 * 1024;

Error corrupt(const char* what) { return fail(ErrorKind::kCorrupt, std::string("gzip: ") + what); }
Error too_large() { return fail(ErrorKind::kTooLarge, "gzip: unpacks to too many bytes"); }

using Stream = std::unique_ptr<z_stream, int (*)(z_stream*)>;

// What is unpacked stands in the first `used` bytes; the rest is room. All members
// share it: were it made anew for each, a file of many empty members behind a
// large one would cost the large one's size many times over.
struct Output {
  std::string bytes;
  std::size_t used = 0;
};

// One byte beyond the limit tells a full buffer from an overflow.
void make_room(Output& out, std::size_t limit) {
  if (out.used < out.bytes.size()) return;
  out.bytes.resize(std::min(std::max(out.used * 2, kFirstChunk), limit + 1));
}

// Unpacks one member behind what is there.
Status unpack_member(z_stream& stream, std::size_t limit, Output& out) {
  while (true) {
    make_room(out, limit);
    stream.next_out = reinterpret_cast<Bytef*>(out.bytes.data() + out.used);
    stream.avail_out = static_cast<uInt>(out.bytes.size() - out.used);
    const int code = inflate(&stream, Z_NO_FLUSH);
    out.used = out.bytes.size() - stream.avail_out;
    if (out.used > limit) return too_large();
    if (code == Z_STREAM_END) return {};
    if (code != Z_OK || stream.avail_out != 0) return corrupt("broken or cut short");
  }
}

}  // namespace

bool is_gzip(std::string_view data) { return data.starts_with("\x1f\x8b"); }

Result<std::string> gunzip(std::string_view data, std::size_t limit) {
  constexpr std::size_t kMost = std::numeric_limits<uInt>::max() / 4;
  if (data.size() > kMost || limit > kMost) return too_large();
  z_stream state{};
  if (inflateInit2(&state, kGzipOnly) != Z_OK) return corrupt("zlib did not start");
  const Stream stream(&state, inflateEnd);
  // zlib does not write to its input.
  stream->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream->avail_in = static_cast<uInt>(data.size());
  Output out;
  do {
    RETURN_IF_ERROR(unpack_member(*stream, limit, out));
    if (stream->avail_in > 0 && inflateReset(stream.get()) != Z_OK) return corrupt("zlib stopped");
  } while (stream->avail_in > 0);
  out.bytes.resize(out.used);
  return std::move(out.bytes);
}

}  // namespace base::gzip
