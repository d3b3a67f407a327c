#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/core/text.h"
#include "toolserver/connectors/files/file_store.h"

namespace tool::files {
namespace {

using base::ErrorKind;
using base::fail;
using base::Result;
using base::Status;

constexpr std::size_t kStep = 1 << 20;
constexpr std::size_t kLongestCharacter = 4;

bool is_tail_byte(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80; }

// Fewer bytes than `length` when the file ends first.
Result<std::string> read_range(int fd, std::uint64_t offset, std::uint64_t length,
                               const Watch& watch) {
  std::string out;
  while (out.size() < length) {
    RETURN_IF_ERROR(watch.check());
    std::size_t filled = out.size();
    auto step = static_cast<std::size_t>(std::min<std::uint64_t>(kStep, length - filled));
    out.resize(filled + step);
    ssize_t got = ::pread(fd, out.data() + filled, step, static_cast<off_t>(offset + filled));
    if (got < 0 && errno != EINTR) return system_error(errno);
    out.resize(filled + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) break;
  }
  return out;
}

// A range may cut the last character in two: what can be the start of one is
// left for the next range.
void drop_cut_character(std::string& text) {
  for (std::size_t back = 1; back < kLongestCharacter && back <= text.size(); ++back) {
    auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (is_tail_byte(static_cast<char>(byte))) continue;
    std::size_t needed = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC2 ? 2 : 1;
    if (needed > back) text.resize(text.size() - back);
    return;
  }
}

Status make_text(ReadAnswer& answer, std::uint64_t offset) {
  bool any = !answer.bytes.empty();
  if (!answer.end) drop_cut_character(answer.bytes);
  if (any && answer.bytes.empty()) {
    return fail(ErrorKind::kInvalid, "length: shorter than the next character; ask for more bytes");
  }
  if (offset > 0 && any && is_tail_byte(answer.bytes.front())) {
    return fail(ErrorKind::kInvalid,
                "offset: lies within a character; use encoding \"base64\" for any range");
  }
  if (!base::is_utf8(answer.bytes)) {
    return fail(ErrorKind::kInvalid, "the file is not UTF-8 text; use encoding \"base64\"");
  }
  return {};
}

}  // namespace

Result<ReadAnswer> FileStore::read(const ReadRequest& request, const Watch& watch) const {
  RETURN_IF_ERROR(check_file_name(request.path));
  ASSIGN_OR_RETURN(Opened folder, resolver_.open_folder(request.path.parent()));
  ASSIGN_OR_RETURN(Opened file, resolver_.open_file_in(folder.fd.get(), request.path.leaf()));
  if (request.offset > file.facts.size) {
    return fail(ErrorKind::kInvalid, "offset: lies behind the end of the file");
  }
  std::uint64_t rest = file.facts.size - request.offset;
  std::uint64_t length = std::min(request.length.value_or(rest), rest);
  if (length > options_.read_cap) {
    return fail(ErrorKind::kTooLarge, "over the most bytes of one read; ask for a shorter length");
  }
  ASSIGN_OR_RETURN(std::string bytes, read_range(file.fd.get(), request.offset, length, watch));
  ReadAnswer answer{.bytes = std::move(bytes), .size = file.facts.size};
  answer.end = request.offset + answer.bytes.size() >= file.facts.size;
  if (request.encoding == Encoding::kText) RETURN_IF_ERROR(make_text(answer, request.offset));
  return answer;
}

}  // namespace tool::files
