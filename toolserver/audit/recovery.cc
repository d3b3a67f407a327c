#include "toolserver/audit/recovery.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/crypto/encoding.h"
#include "toolserver/audit/segment_reader.h"

namespace tool::audit {
namespace {

using Kind = SegmentReader::Kind;

base::Error broken(const std::string& path, std::uint64_t line, std::string_view why) {
  return base::fail(
      base::ErrorKind::kCorrupt,
      fmt::format("audit file {}, line {}: the chain is broken ({})", path, line, why));
}

// The head before a segment's first line, which names it. Whether the segment
// before really ends so is what verify() checks.
base::Result<ChainHead> head_before(const SegmentName& segment, std::string_view line) {
  auto parsed = base::json::parse(line, {.bytes = kMaxLine});
  const auto* object = parsed ? parsed->if_object() : nullptr;
  const auto* prev = object ? object->if_contains("prev") : nullptr;
  if (!prev || !prev->is_string()) return broken(segment.path, 1, "fields");
  const auto& text = prev->get_string();
  auto bytes = base::crypto::from_hex({text.data(), text.size()}, sizeof(base::crypto::Digest));
  if (!bytes || bytes->size() != sizeof(base::crypto::Digest) || segment.first_seq == 0) {
    return broken(segment.path, 1, "fields");
  }
  ChainHead head{segment.first_seq - 1, {}};
  std::ranges::copy(*bytes, head.hash.begin());
  return head;
}

base::Result<TornTail> cut_off(const std::string& path, std::uint64_t offset,
                               std::string_view bytes) {
  TornTail torn{bytes.size(), fmt::format("{}.torn-{}", path, offset)};
  std::error_code ec;
  std::filesystem::remove(torn.side_file, ec);  // Of an earlier cut that did not end.
  ASSIGN_OR_RETURN(auto side, Segment::open(torn.side_file, Segment::Open::kNew));
  RETURN_IF_ERROR(side.append(bytes));
  RETURN_IF_ERROR(side.sync());
  ASSIGN_OR_RETURN(auto segment, Segment::open(path, Segment::Open::kExisting));
  RETURN_IF_ERROR(segment.cut_to(offset));
  RETURN_IF_ERROR(segment.sync());
  return torn;
}

// Follows the whole segment. A segment without a whole line has no head: the
// one before it has.
base::Result<std::optional<Recovered>> recover_segment(const SegmentName& segment) {
  ASSIGN_OR_RETURN(auto reader, SegmentReader::open(segment.path));
  std::optional<Recovered> found;
  while (true) {
    ASSIGN_OR_RETURN(auto line, reader.next());
    if (line.kind == Kind::kEnd) return found;
    if (line.kind == Kind::kLong) return broken(segment.path, line.number, "too long");
    if (line.kind == Kind::kTorn) {
      ASSIGN_OR_RETURN(auto torn, cut_off(segment.path, line.offset, line.text));
      if (found) found->torn = torn;
      return found;
    }
    if (!found) {
      ASSIGN_OR_RETURN(auto before, head_before(segment, line.text));
      found = Recovered{before, segment.path, std::nullopt};
    }
    auto record = follow(found->head, line.text);
    if (!record) return broken(segment.path, line.number, name(record.error()));
  }
}

}  // namespace

base::Result<Recovered> recover(const std::string& folder) {
  ASSIGN_OR_RETURN(auto segments, list_segments(folder));
  while (!segments.empty()) {
    ASSIGN_OR_RETURN(auto found, recover_segment(segments.back()));
    if (found) return *found;
    // Made by a rotation that a crash cut short: it holds no line, so the one
    // before it goes on and this name is free again.
    std::error_code ec;
    std::filesystem::remove(segments.back().path, ec);
    if (ec) {
      return base::fail(base::ErrorKind::kUnavailable, "audit file: cannot be removed")
          .with_detail(ec.message());
    }
    segments.pop_back();
  }
  return Recovered{};
}

}  // namespace tool::audit
