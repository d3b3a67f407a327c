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

// The calls that a summary stands for.
std::uint64_t summed_calls(const Object& record) {
  const auto* details = record.if_contains("details");
  if (!details || !details->is_object() || text_of(record, "event") != "summary") return 0;
  if (text_of(details->get_object(), "act") != "call_refused") return 0;
  const auto* codes = details->get_object().if_contains("codes");
  if (!codes || !codes->is_object()) return 0;
  std::uint64_t sum = 0;
  for (const auto& one : codes->get_object()) sum += number_of(codes->get_object(), one.key());
  return sum;
}

bool is_refused(const Object& record) {
  const auto* decision = record.if_contains("decision");
  return decision && decision->is_object() && decision->get_object().contains("code");
}

class Verifier {
 public:
  Verifier(const CheckpointKeys& keys, const VerifyOptions& options, std::uint64_t first_seq)
      : keys_(keys), options_(options), bound_(options.checkpoint_records), ring_(kRing) {
    report_.signatures_checked = !keys.empty();
    report_.first_seq = first_seq;
    head_.seq = first_seq - 1;
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
        case Kind::kLong: report_.broken = fault_at(segment, line, "too_long"); break;
        case Kind::kTorn:
          report_.torn_bytes = line.text.size();
          if (!is_last) report_.broken = fault_at(segment, line, "torn");
          return {};
      }
    }
    return {};
  }

  VerifyReport finish() && {
    report_.head = {head_.seq, head_.hash_text()};
    report_.unfinished = open_.size();
    report_.signed_seq = covered_;
    report_.unsigned_tail = unsigned_lines();
    if (start_) note_taken_over(start_->taken);
    if (report_.signatures_checked) {
      if (!report_.broken) report_.broken = unvouched_;
      report_.is_tail_too_long = report_.unsigned_tail > 2 * bound_;
    }
    for (const auto& receipt : options_.expected) {
      auto found = found_.find(receipt.seq);
      if (found == found_.end() || found->second != receipt.hash)
        report_.missing.push_back(receipt);
    }
    for (const auto& head : options_.witnessed) {
      auto found = found_.find(head.seq);
      bool is_there = found != found_.end() && found->second == head.hash_text();
      // What was archived cannot be looked up.
      if (!is_there && head.seq >= report_.first_seq) report_.missing_witnessed.push_back(head);
    }
    return std::move(report_);
  }

  // Their hashes are kept when the lines come by.
  void expect() {
    for (const auto& receipt : options_.expected) found_[receipt.seq];
    for (const auto& head : options_.witnessed) found_[head.seq];
  }

 private:
  [[nodiscard]] BrokenLine fault_at(const SegmentName& segment, const SegmentReader::Line& line,
                                    std::string_view rule) const {
    return BrokenLine{segment.path, line.number, line.offset, head_.seq + 1, rule};
  }

  void whole_line(const SegmentName& segment, const SegmentReader::Line& line) {
    // What is left of a trail goes on from a hash that only its own line names.
    if (report_.lines == 0 && report_.first_seq > 1) adopt_prev(line.text);
    ChainHead before = head_;
    if (report_.lines == 0) ring_[head_.seq % kRing] = head_;
    auto record = follow(head_, line.text);
    if (!record) {
      report_.broken = fault_at(segment, line, name(record.error()));
      return;
    }
    std::string_view rule = use(*record);
    if (rule == "signature") {
      // Perhaps by a key of former times: then a later start says that it held.
      BrokenLine fault = fault_at(segment, line, rule);
      fault.seq = head_.seq;
      if (!unvouched_) unvouched_ = fault;
    } else if (!rule.empty()) {
      head_ = before;
      report_.broken = fault_at(segment, line, rule);
      return;
    }
    ++report_.lines;
    ring_[head_.seq % kRing] = head_;
    if (auto found = found_.find(head_.seq); found != found_.end()) {
      found->second = head_.hash_text();
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
    } else if (kind == "event") {
      report_.refused += summed_calls(record);
    } else if (kind == "start") {
      ++report_.starts;
      interrupt();
      take_over(record);
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

  // A start line is signed by the next checkpoint of its own run. Until then it
  // is as good as any other line: it takes nothing from what is unsigned.
  void take_over(const Object& record) {
    if (start_ && !report_.signatures_checked) note_taken_over(start_->taken);
    start_ = Start{};
    start_->has_unvouched_before = unvouched_.has_value();
    UnsignedLines& taken = start_->taken;
    taken.start = head_.seq;
    const auto* marked = record.if_contains("unsigned");
    if (marked && marked->is_object()) {
      start_->vouches = true;
      start_->bound = number_of(record, "checkpoint_records");
      taken.lines = number_of(marked->get_object(), "lines");
      taken.range = {number_of(marked->get_object(), "from"),
                     number_of(marked->get_object(), "to")};
    } else if (report_.signatures_checked) {
      taken.lines = unsigned_lines() - 1;
      taken.range = {covered_ + 1, head_.seq - 1};
    }
  }

  void note_taken_over(UnsignedLines taken) {
    if (taken.lines == 0 || report_.taken_over.size() == kListed) return;
    taken.is_accepted =
        std::ranges::find(options_.accepted, taken.range) != options_.accepted.end();
    report_.taken_over.push_back(taken);
  }

  std::string_view checkpoint(const Object& record) {
    ++report_.checkpoints;
    checkpoints_since_.push_back(head_.seq);
    if (!report_.signatures_checked) return {};
    auto checked = keys_.check(record);
    if (checked.standing != CheckedLine::Standing::kVerified) return "signature";
    const ChainHead& vouched = checked.covered;
    // One at the beginning may cover what is archived.
    bool is_before = vouched.seq + 1 < report_.first_seq;
    if (vouched.seq >= head_.seq || vouched.seq + kRing <= head_.seq ||
        (!is_before && (vouched.seq < covered_ || ring_[vouched.seq % kRing] != vouched))) {
      return "covers";
    }
    if (has_key_pair_ && !checked.is_by_key_pair) return "weaker_key";
    has_key_pair_ |= checked.is_by_key_pair;
    note_key(checked.kid);
    if (!is_before) cover(vouched.seq);
    return {};
  }

  void cover(std::uint64_t seq) {
    covered_ = std::max(covered_, seq);
    std::erase_if(checkpoints_since_, [&](std::uint64_t one) { return one <= covered_; });
    if (!start_ || start_->taken.start > covered_) return;
    // The process that wrote this start held the old keys, and refuses to go on
    // from a checkpoint that none of them made.
    if (start_->vouches && start_->has_unvouched_before) unvouched_.reset();
    if (start_->bound > 0) bound_ = start_->bound;
    note_taken_over(start_->taken);
    start_.reset();
  }

  void note_key(const std::string& kid) {
    if (report_.keys.empty() || report_.keys.back().kid != kid) {
      if (report_.keys.size() == kListed) return;
      report_.keys.push_back({kid, head_.seq, 0});
    }
    ++report_.keys.back().checkpoints;
  }

  // From the covered line to the last one that was followed, checkpoints apart.
  [[nodiscard]] std::uint64_t unsigned_lines() const {
    return head_.seq - covered_ - checkpoints_since_.size();
  }

  struct Start {
    UnsignedLines taken;
    bool has_unvouched_before = false;
    std::uint64_t bound = 0;  // Lines without a signature, as the service was set.
    bool vouches = false;     // It says what it took over.
  };

  const CheckpointKeys& keys_;
  const VerifyOptions& options_;
  std::uint64_t bound_;
  VerifyReport report_;
  ChainHead head_;
  std::uint64_t covered_ = 0;  // By a checkpoint that holds.
  bool has_key_pair_ = false;
  std::optional<Start> start_;                    // Not covered yet.
  std::optional<BrokenLine> unvouched_;           // A checkpoint that no key made.
  std::vector<std::uint64_t> checkpoints_since_;  // After covered_.
  std::vector<ChainHead> ring_;
  std::map<std::uint64_t, OpenCall> open_;
  std::map<std::uint64_t, std::string> found_;  // Hashes of the lines that are asked for.
};

// A file's name says its first line; one that was renamed says it itself.
std::uint64_t first_of(const std::string& path) {
  auto folder = std::filesystem::path(path).parent_path();
  if (auto segments = list_segments(folder.empty() ? "." : folder.string())) {
    for (const auto& segment : *segments) {
      if (std::filesystem::path(segment.path).filename() ==
          std::filesystem::path(path).filename()) {
        return segment.first_seq;
      }
    }
  }
  auto reader = SegmentReader::open(path);
  if (!reader) return 1;  // Reading it says why.
  auto line = reader->next();
  if (!line || line->kind != Kind::kWhole) return 1;
  auto parsed = base::json::parse(line->text, {.bytes = kMaxLine});
  std::uint64_t seq = parsed && parsed->is_object() ? number_of(parsed->get_object(), "seq") : 0;
  return std::max<std::uint64_t>(1, seq);
}

}  // namespace

base::Result<VerifyReport> verify(const std::string& path, const CheckpointKeys& keys,
                                  const VerifyOptions& options) {
  std::vector<SegmentName> segments;
  std::error_code ec;
  if (std::filesystem::is_regular_file(path, ec)) {
    segments.push_back({first_of(path), path});
  } else {
    ASSIGN_OR_RETURN(segments, list_segments(path));
  }
  if (segments.empty()) return base::fail(base::ErrorKind::kNotFound, "no audit trail there");
  std::uint64_t first = std::max<std::uint64_t>(1, segments.front().first_seq);
  Verifier verifier(keys, options, options.first_seq.value_or(first));
  verifier.expect();
  for (const auto& segment : segments) {
    RETURN_IF_ERROR(verifier.read(segment, &segment == &segments.back()));
  }
  VerifyReport report = std::move(verifier).finish();
  report.path = path;
  return report;
}

}  // namespace tool::audit
