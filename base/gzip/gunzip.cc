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

// Unpacks one member to the end of `out`.
Status unpack_member(z_stream& stream, std::size_t limit, std::string& out) {
  while (true) {
    // One byte beyond the limit tells a full buffer from an overflow.
    const std::size_t used = out.size();
    const std::size_t room = std::min(std::max(used * 2, kFirstChunk), limit + 1);
    out.resize(room);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + used);
    stream.avail_out = static_cast<uInt>(room - used);
    const int code = inflate(&stream, Z_NO_FLUSH);
    out.resize(room - stream.avail_out);
    if (out.size() > limit) return too_large();
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
  std::string out;
  do {
    RETURN_IF_ERROR(unpack_member(*stream, limit, out));
    if (stream->avail_in > 0 && inflateReset(stream.get()) != Z_OK) return corrupt("zlib stopped");
  } while (stream->avail_in > 0);
  return out;
}

}  // namespace base::gzip
