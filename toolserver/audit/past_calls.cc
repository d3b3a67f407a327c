#include "toolserver/audit/past_calls.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/json/fields.h"
#include "toolserver/audit/chain.h"
#include "toolserver/audit/segment.h"
#include "toolserver/audit/segment_reader.h"

namespace tool::audit {
namespace {

using base::json::Fields;

constexpr std::size_t kFiles = 2;

// As time_text() writes it.
base::Result<base::WallTime> read_time(const Fields& fields) {
  ASSIGN_OR_RETURN(auto text, fields.string("ts"));
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd.ddddddZ";
  bool fits = text.size() == kForm.size();
  for (std::size_t i = 0; fits && i < kForm.size(); ++i) {
    fits = kForm[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == kForm[i];
  }
  if (!fits) return base::fail(base::ErrorKind::kCorrupt, fields.path_of("ts"));
  auto number = [&](std::size_t at, std::size_t digits) {
    int value = 0;
    for (std::size_t i = at; i < at + digits; ++i) value = 10 * value + (text[i] - '0');
    return value;
  };
  using namespace std::chrono;
  year_month_day date{year(number(0, 4)), month(static_cast<unsigned>(number(5, 2))),
                      day(static_cast<unsigned>(number(8, 2)))};
  if (!date.ok()) return base::fail(base::ErrorKind::kCorrupt, fields.path_of("ts"));
  return base::WallTime(sys_days(date).time_since_epoch() + hours(number(11, 2)) +
                        minutes(number(14, 2)) + seconds(number(17, 2)) +
                        microseconds(number(20, 6)));
}

// Follows the lines of calls; what is over the bound is forgotten, oldest first.
class Gatherer {
 public:
  Gatherer(base::WallTime not_before, std::size_t most) : since_(not_before), most_(most) {}

  base::Status take(std::string_view line) {
    // A caller's words have their quotes escaped, so this finds every such line.
    bool is_call = line.contains(R"("kind":"open")") || line.contains(R"("kind":"seal")");
    bool is_gap = line.contains(R"("kind":"gap")");
    if (!is_call && !is_gap && has_line_) return {};
    ASSIGN_OR_RETURN(auto value, base::json::parse(line, {.bytes = kMaxLine}));
    ASSIGN_OR_RETURN(auto fields, Fields::of(value, "line"));
    ASSIGN_OR_RETURN(auto kind, fields.string("kind"));
    ASSIGN_OR_RETURN(auto seq, fields.int64("seq"));
    ASSIGN_OR_RETURN(auto time, read_time(fields));
    // What stands before the first line is not known, unless nothing does.
    if (!std::exchange(has_line_, true) && seq > 1) since_ = std::max(since_, time);
    if (kind == "gap") since_ = std::max(since_, time);
    if (kind == "open") return open(fields, static_cast<std::uint64_t>(seq), time);
    if (kind == "seal") return seal(fields, static_cast<std::uint64_t>(seq));
    return {};
  }

  PastCalls finish() && {
    PastCalls out;
    out.since = since_;
    for (auto& [seq, call] : calls_) {
      if (call.began > since_) out.calls.push_back(std::move(call));
    }
    return out;
  }

 private:
  base::Status open(const Fields& fields, std::uint64_t seq, base::WallTime time) {
    PastCall call;
    call.began = time;
    ASSIGN_OR_RETURN(auto principal, fields.object("principal"));
    ASSIGN_OR_RETURN(auto subject, principal.opt_string("sub"));
    ASSIGN_OR_RETURN(auto issuer, principal.opt_string("iss"));
    ASSIGN_OR_RETURN(auto rid, fields.opt_string("rid"));
    ASSIGN_OR_RETURN(auto tool, fields.opt_string("tool"));
    call.subject = subject.value_or("");
    call.issuer = issuer.value_or("");
    call.request_id = rid.value_or("");
    call.tool = tool.value_or("");
    calls_.emplace(seq, std::move(call));
    if (calls_.size() <= most_) return {};
    since_ = std::max(since_, calls_.begin()->second.began);
    calls_.erase(calls_.begin());
    return {};
  }

  base::Status seal(const Fields& fields, std::uint64_t seq) {
    ASSIGN_OR_RETURN(auto open, fields.opt_int64("open"));
    auto found = open ? calls_.find(static_cast<std::uint64_t>(*open)) : calls_.end();
    if (found == calls_.end()) return {};
    ASSIGN_OR_RETURN(auto result, fields.opt_object("result"));
    if (!result) {
      calls_.erase(found);
      return {};
    }
    ASSIGN_OR_RETURN(found->second.status, result->string("status"));
    ASSIGN_OR_RETURN(found->second.hash, fields.string("hash"));
    found->second.seq = seq;
    return {};
  }

  base::WallTime since_;
  const std::size_t most_;
  bool has_line_ = false;
  std::map<std::uint64_t, PastCall> calls_;  // By the line that opens each.
};

}  // namespace

base::Result<PastCalls> past_calls(const std::string& folder, base::WallTime not_before,
                                   std::size_t most) {
  ASSIGN_OR_RETURN(auto segments, list_segments(folder));
  Gatherer gatherer(not_before, most);
  std::size_t from = segments.size() > kFiles ? segments.size() - kFiles : 0;
  for (std::size_t i = from; i < segments.size(); ++i) {
    ASSIGN_OR_RETURN(auto reader, SegmentReader::open(segments[i].path));
    while (true) {
      ASSIGN_OR_RETURN(auto line, reader.next());
      if (line.kind != SegmentReader::Kind::kWhole) break;
      if (auto taken = gatherer.take(line.text); !taken) {
        return base::fail(base::ErrorKind::kCorrupt, "audit folder: a line is no record")
            .with_detail(taken.error().message());
      }
    }
  }
  return std::move(gatherer).finish();
}

}  // namespace tool::audit
