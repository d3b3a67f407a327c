#include "toolserver/audit/verify.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include "toolserver/audit/segment.h"
#include "toolserver/audit/segment_reader.h"

namespace tool::audit {
namespace {

using base::json::Object;
using Kind = SegmentReader::Kind;

constexpr std::size_t kListed = 100;
// Open calls that are followed by name; a forged trail may name any number.
constexpr std::size_t kMaxOpen = 100'000;
// How far behind its own line a checkpoint may vouch.
constexpr std::size_t kRing = 1 << 16;

std::string text_of(const Object& record, std::string_view key) {
  const auto* value = record.if_contains(key);
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::uint64_t number_of(const Object& record, std::string_view key) {
  const auto* value = record.if_contains(key);
  return value && value->is_int64() && value->get_int64() > 0
             ? static_cast<std::uint64_t>(value->get_int64())
             : 0;
}

bool is_refused(const Object& record) {
  const auto* decision = record.if_contains("decision");
  return decision && decision->is_object() && decision->get_object().contains("code");
}

class Verifier {
 public:
  Verifier(const CheckpointKeys& keys, const VerifyOptions& options)
      : keys_(keys), options_(options), ring_(kRing) {
    report_.signatures_checked = !keys.empty();
    head_.seq = options.first_seq - 1;
    covered_ = head_.seq;
  }

  base::Status read(const SegmentName& segment, bool is_last) {
    ++report_.files;
    ASSIGN_OR_RETURN(auto reader, SegmentReader::open(segment.path));
    while (!report_.broken) {
      ASSIGN_OR_RETURN(auto line, reader.next());
      switch (line.kind) {
        case Kind::kEnd: return {};
        case Kind::kWhole: whole_line(segment, line); break;
        case Kind::kLong: broken(segment, line, "too_long"); break;
        case Kind::kTorn:
          report_.torn_bytes = line.text.size();
          if (!is_last) broken(segment, line, "torn");
          return {};
      }
    }
    return {};
  }

  VerifyReport finish() && {
    report_.head = {head_.seq, head_.hash_text()};
    report_.unfinished = open_.size();
    report_.unsigned_tail = head_.seq - covered_;
    if (report_.signatures_checked) note_stretch(head_.seq);
    for (const auto& receipt : options_.expected) {
      bool is_there = std::ranges::find(found_, receipt) != found_.end();
      if (!is_there) report_.missing.push_back(receipt);
    }
    return std::move(report_);
  }

 private:
  void broken(const SegmentName& segment, const SegmentReader::Line& line, std::string_view rule) {
    report_.broken = BrokenLine{segment.path, line.number, line.offset, head_.seq + 1, rule};
  }

  void whole_line(const SegmentName& segment, const SegmentReader::Line& line) {
    // What is left of a trail goes on from a hash that only its own line names.
    if (report_.lines == 0 && options_.first_seq > 1) adopt_prev(line.text);
    ChainHead before = head_;
    auto record = follow(head_, line.text);
    if (!record) return broken(segment, line, name(record.error()));
    if (auto rule = use(*record); !rule.empty()) {
      head_ = before;
      return broken(segment, line, rule);
    }
    ++report_.lines;
    ring_[head_.seq % kRing] = head_;
    for (const auto& receipt : options_.expected) {
      if (receipt.seq == head_.seq && receipt.hash == head_.hash_text()) found_.push_back(receipt);
    }
  }

  void adopt_prev(std::string_view line) {
    auto parsed = base::json::parse(line, {.bytes = kMaxLine});
    if (!parsed || !parsed->is_object()) return;
    std::string prev = text_of(parsed->get_object(), "prev");
    if (prev.size() != 2 * head_.hash.size()) return;
    for (std::size_t i = 0; i < head_.hash.size(); ++i) {
      std::from_chars(prev.data() + 2 * i, prev.data() + 2 * i + 2, head_.hash[i], 16);
    }
  }

  // The rule that the record breaks, or nothing.
  std::string_view use(const Object& record) {
    std::string kind = text_of(record, "kind");
    if (kind == "open") {
      if (open_.size() < kMaxOpen) {
        open_[head_.seq] = {head_.seq, text_of(record, "rid"), text_of(record, "tool")};
      }
    } else if (kind == "seal") {
      ++(is_refused(record) ? report_.refused : report_.calls);
      open_.erase(number_of(record, "open"));
    } else if (kind == "start") {
      ++report_.starts;
      interrupt();
    } else if (kind == "gap") {
      report_.lost += number_of(record, "lost");
    } else if (kind == "checkpoint") {
      return checkpoint(record);
    }
    return {};
  }

  void interrupt() {
    report_.interrupted_count += open_.size();
    for (auto& [seq, call] : open_) {
      if (report_.interrupted.size() == kListed) break;
      report_.interrupted.push_back(std::move(call));
    }
    open_.clear();
  }

  std::string_view checkpoint(const Object& record) {
    ++report_.checkpoints;
    if (!report_.signatures_checked) return {};
    auto vouched = keys_.check(record);
    if (!vouched) return "signature";
    if (vouched->seq >= head_.seq || vouched->seq < covered_ || vouched->seq + kRing <= head_.seq ||
        ring_[vouched->seq % kRing] != *vouched) {
      return "covers";
    }
    note_stretch(vouched->seq);
    covered_ = vouched->seq;
    return {};
  }

  // Called with the next line that is covered, or the last line of all.
  void note_stretch(std::uint64_t until) {
    std::uint64_t lines = until - covered_;
    if (lines > 2 * options_.checkpoint_records && report_.unsigned_stretches.size() < kListed) {
      report_.unsigned_stretches.push_back({covered_ + 1, lines});
    }
  }

  const CheckpointKeys& keys_;
  const VerifyOptions& options_;
  VerifyReport report_;
  ChainHead head_;
  std::uint64_t covered_ = 0;
  std::vector<ChainHead> ring_;
  std::map<std::uint64_t, OpenCall> open_;
  std::vector<AuditReceipt> found_;
};

Object broken_json(const BrokenLine& broken) {
  return Object{{"file", boost::json::string(broken.file)},
                {"line", broken.line},
                {"offset", broken.offset},
                {"seq", broken.seq},
                {"rule", boost::json::string(broken.rule)}};
}

}  // namespace

base::Result<VerifyReport> verify(const std::string& path, const CheckpointKeys& keys,
                                  const VerifyOptions& options) {
  std::vector<SegmentName> segments;
  std::error_code ec;
  if (std::filesystem::is_regular_file(path, ec)) {
    segments.push_back({options.first_seq, path});
  } else {
    ASSIGN_OR_RETURN(segments, list_segments(path));
  }
  if (segments.empty()) return base::fail(base::ErrorKind::kNotFound, "no audit trail there");
  Verifier verifier(keys, options);
  for (const auto& segment : segments) {
    RETURN_IF_ERROR(verifier.read(segment, &segment == &segments.back()));
  }
  return std::move(verifier).finish();
}

Object VerifyReport::to_json() const {
  Object json{{"intact", is_intact()},
              {"signatures_checked", signatures_checked},
              {"files", files},
              {"lines", lines},
              {"calls", calls},
              {"refused", refused},
              {"starts", starts},
              {"checkpoints", checkpoints},
              {"lost", lost},
              {"torn_bytes", torn_bytes},
              {"unfinished", unfinished},
              {"interrupted_count", interrupted_count},
              {"unsigned_tail", unsigned_tail},
              {"head", {{"seq", head.seq}, {"hash", boost::json::string(head.hash)}}}};
  if (broken) json["broken"] = broken_json(*broken);
  auto& calls_json = json["interrupted"].emplace_array();
  for (const auto& call : interrupted) {
    calls_json.push_back(Object{{"seq", call.seq},
                                {"rid", boost::json::string(call.request_id)},
                                {"tool", boost::json::string(call.tool)}});
  }
  auto& stretches = json["unsigned_stretches"].emplace_array();
  for (const auto& stretch : unsigned_stretches) {
    stretches.push_back(Object{{"from", stretch.from}, {"lines", stretch.lines}});
  }
  auto& receipts = json["missing"].emplace_array();
  for (const auto& receipt : missing) {
    receipts.push_back(Object{{"seq", receipt.seq}, {"hash", boost::json::string(receipt.hash)}});
  }
  return json;
}

}  // namespace tool::audit
