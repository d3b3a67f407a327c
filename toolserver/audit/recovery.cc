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

// Follows segments line by line and holds their checkpoints against the keys.
class Follower {
 public:
  Follower(const CheckpointKeys& keys, ChainHead before) : keys_(keys), first_(before.seq) {
    heads_.push_back(before);
    found_.head = before;
    found_.signed_seq = before.seq;
  }

  // Whether there was a whole line.
  base::Result<bool> follow_segment(const SegmentName& segment) {
    ASSIGN_OR_RETURN(auto reader, SegmentReader::open(segment.path));
    bool has_line = false;
    while (true) {
      ASSIGN_OR_RETURN(auto line, reader.next());
      if (line.kind == Kind::kEnd) return has_line;
      if (line.kind == Kind::kLong) return broken(segment.path, line.number, "too long");
      if (line.kind == Kind::kTorn) {
        ASSIGN_OR_RETURN(auto torn, cut_off(segment.path, line.offset, line.text));
        if (has_line) found_.torn = torn;
        return has_line;
      }
      auto record = follow(found_.head, line.text);
      if (!record) return broken(segment.path, line.number, name(record.error()));
      has_line = true;
      found_.segment_path = segment.path;
      heads_.push_back(found_.head);
      if (is_checkpoint(*record)) {
        RETURN_IF_ERROR(checkpoint(*record, segment.path, line.number));
      }
    }
  }

  // A checkpoint of a key that is gone may stand before one of a key that is
  // known, whose maker has checked it; the last one must be known.
  base::Result<Recovered> finish() && {
    if (unknown_) return std::move(*unknown_);
    std::uint64_t lines = found_.head.seq - found_.signed_seq;
    std::uint64_t checkpoints = 0;
    for (std::uint64_t seq : checkpoints_) checkpoints += seq > found_.signed_seq ? 1 : 0;
    found_.unsigned_lines = lines - checkpoints;
    return std::move(found_);
  }

  [[nodiscard]] bool has_checkpoint() const { return has_checkpoint_; }

 private:
  static bool is_checkpoint(const base::json::Object& record) {
    const auto* kind = record.if_contains("kind");
    return kind && kind->is_string() && kind->get_string() == "checkpoint";
  }

  base::Status checkpoint(const base::json::Object& record, const std::string& path,
                          std::uint64_t number) {
    checkpoints_.push_back(found_.head.seq);
    auto checked = keys_.check(record);
    if (checked.standing != CheckedLine::Standing::kVerified) {
      unknown_ = base::fail(
          base::ErrorKind::kCorrupt,
          fmt::format("audit file {}, line {}: no configured key made this checkpoint; after a "
                      "change of key or secret the old one belongs into audit.old_keys",
                      path, number));
      return {};
    }
    std::uint64_t covered = checked.covered.seq;
    if (covered >= found_.head.seq) return broken(path, number, "covers");
    if (covered >= first_) {
      if (heads_[covered - first_] != checked.covered) return broken(path, number, "covers");
      has_checkpoint_ = true;
      found_.signed_seq = covered;
    }
    unknown_.reset();
    found_.has_key_pair = checked.is_by_key_pair;
    return {};
  }

  const CheckpointKeys& keys_;
  const std::uint64_t first_;     // seq of the head before all.
  std::vector<ChainHead> heads_;  // From first_ on.
  std::vector<std::uint64_t> checkpoints_;
  std::optional<base::Error> unknown_;  // After the last one that is known.
  bool has_checkpoint_ = false;
  Recovered found_;
};

// A segment without a whole line holds no line to go on from: it was made by a
// rotation that a crash cut short, so the one before it goes on and this name
// is free again.
base::Result<bool> is_hollow(const SegmentName& segment) {
  ASSIGN_OR_RETURN(auto reader, SegmentReader::open(segment.path));
  ASSIGN_OR_RETURN(auto line, reader.next());
  if (line.kind == Kind::kTorn) {
    RETURN_IF_ERROR(cut_off(segment.path, line.offset, line.text));
  }
  return line.kind == Kind::kTorn || line.kind == Kind::kEnd;
}

base::Result<ChainHead> head_before(const SegmentName& segment) {
  ASSIGN_OR_RETURN(auto reader, SegmentReader::open(segment.path));
  ASSIGN_OR_RETURN(auto line, reader.next());
  return head_before(segment, line.text);
}

base::Status drop(const SegmentName& segment) {
  std::error_code ec;
  std::filesystem::remove(segment.path, ec);
  if (!ec) return {};
  return base::fail(base::ErrorKind::kUnavailable, "audit file: cannot be removed")
      .with_detail(ec.message());
}

}  // namespace

base::Result<Recovered> recover(const std::string& folder, const CheckpointKeys& keys) {
  ASSIGN_OR_RETURN(auto segments, list_segments(folder));
  while (!segments.empty()) {
    ASSIGN_OR_RETURN(bool hollow, is_hollow(segments.back()));
    if (!hollow) break;
    RETURN_IF_ERROR(drop(segments.back()));
    segments.pop_back();
  }
  if (segments.empty()) return Recovered{};
  // Back to the segment that holds what the last checkpoint covers: as a rule
  // the last one.
  std::optional<TornTail> torn;
  for (std::size_t from = segments.size() - 1;; --from) {
    ASSIGN_OR_RETURN(auto before, head_before(segments[from]));
    Follower follower(keys, before);
    for (std::size_t i = from; i < segments.size(); ++i) {
      RETURN_IF_ERROR(follower.follow_segment(segments[i]));
    }
    bool is_enough = follower.has_checkpoint() || from == 0;
    ASSIGN_OR_RETURN(auto found, std::move(follower).finish());
    if (found.torn) torn = found.torn;  // It is cut off but once.
    if (!is_enough) continue;
    found.torn = torn;
    return found;
  }
}

}  // namespace tool::audit
