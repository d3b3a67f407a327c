#include "toolserver/audit/segment_reader.h"

#include <cerrno>
#include <cstring>

#include "toolserver/audit/chain.h"

namespace tool::audit {
namespace {

constexpr std::size_t kChunk = 256 * 1024;

}  // namespace

base::Result<SegmentReader> SegmentReader::open(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rbe");
  if (!file) {
    return base::fail(base::ErrorKind::kUnavailable, "audit file: cannot be opened")
        .with_detail(std::strerror(errno));
  }
  return SegmentReader(file);
}

base::Result<SegmentReader::Line> SegmentReader::next() {
  std::size_t searched = begin_;
  while (true) {
    std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      Line line{Kind::kWhole, std::string_view(buffer_).substr(begin_, end - begin_), offset_,
                ++number_};
      offset_ += end + 1 - begin_;
      begin_ = end + 1;
      return line;
    }
    if (buffer_.size() - begin_ > kMaxLine) return Line{Kind::kLong, {}, offset_, number_ + 1};
    buffer_.erase(0, begin_);
    begin_ = 0;
    searched = buffer_.size();
    buffer_.resize(searched + kChunk);
    std::size_t n = std::fread(buffer_.data() + searched, 1, kChunk, file_.get());
    buffer_.resize(searched + n);
    if (n > 0) continue;
    if (std::ferror(file_.get())) {
      return base::fail(base::ErrorKind::kUnavailable, "audit file: cannot be read");
    }
    if (buffer_.empty()) return Line{Kind::kEnd, {}, offset_, number_};
    return Line{Kind::kTorn, buffer_, offset_, number_ + 1};
  }
}

}  // namespace tool::audit
