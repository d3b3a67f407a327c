#include "toolserver/audit/record.h"

#include <fmt/format.h>

#include <iterator>

#include "base/json/json.h"

namespace tool::audit {
namespace {

constexpr std::size_t kMaxText = 1024;
constexpr std::size_t kUsualLine = 768;  // Bytes, without the arguments.

// Writes members one after another. The caller names them in their canonical
// order; the test of the folder compares every line with base::json::canonical.
class Members {
 public:
  explicit Members(std::string& out) : out_(out) {}

  void text(std::string_view key, std::string_view value) {
    if (value.empty()) return;
    start(key);
    base::json::append_quoted(out_, cut_text(value));
  }
  void number(std::string_view key, std::uint64_t value) {
    start(key);
    fmt::format_int digits(value);
    out_.append(digits.data(), digits.size());
  }
  void raw(std::string_view key, std::string_view json) {
    if (json.empty()) return;
    start(key);
    out_ += json;
  }
  /// `fill` writes the members of an object.
  template <class Fill>
  void object(std::string_view key, Fill fill) {
    start(key);
    out_ += '{';
    Members inner(out_);
    fill(inner);
    out_ += '}';
  }

 private:
  void start(std::string_view key) {
    if (out_.back() != '{') out_ += ',';
    out_ += '"';
    out_ += key;
    out_ += "\":";
  }
  std::string& out_;
};

std::uint64_t micros(std::chrono::microseconds time) {
  return time.count() > 0 ? static_cast<std::uint64_t>(time.count()) : 0;
}

// "boot", "kind", "principal" and "ts" are in every line, so a comma comes
// before and after each of the three places.
void add_until_hash(Members& members, const CallRecord& record, const Origin& origin) {
  members.raw("args", record.args);
  members.text("args_mac", record.args_mac);
  members.text("boot", origin.boot);
  members.text("consent", record.consent);
  if (const auto& decision = record.decision) {
    members.object("decision", [&](Members& m) {
      if (decision->code) m.text("code", name(*decision->code));
      m.text("stage", decision->stage);
      m.text("verdict", decision->code ? "refused" : "allowed");
    });
  }
  members.text("flow", record.flow);
  members.text("guard", record.guard);
}

void add_until_prev(Members& members, const CallRecord& record, RecordKind kind,
                    const Origin& origin) {
  if (record.hop > 0) members.number("hop", record.hop);
  members.text("kind", kind == RecordKind::kOpen ? "open" : "seal");
  members.text("node", origin.node);
  if (record.open_seq > 0) members.number("open", record.open_seq);
  members.text("origin", record.origin);
  members.text("peer", record.peer);
}

void add_until_seq(Members& members, const CallRecord& record) {
  members.object("principal", [&](Members& m) {
    if (!record.bound_to.empty()) {
      m.object("cnf", [&](Members& cnf) {
        cnf.text("jkt", record.bound_to.key);
        cnf.text("x5t#S256", record.bound_to.certificate);
      });
    }
    m.text("iss", record.issuer);
    m.text("method", record.method);
    m.text("sub", record.subject);
  });
  members.text("repeats", record.repeats);
  if (const auto& outcome = record.outcome) {
    members.object("result", [&](Members& m) {
      m.number("bytes", outcome->bytes);
      m.number("redactions", outcome->redactions);
      m.text("status", outcome->status);
    });
  }
  members.text("rid", record.request_id);
}

void add_rest(Members& members, const CallRecord& record) {
  members.text("sid", record.session_id);
  if (const auto& timing = record.timing) {
    members.object("timing", [&](Members& m) {
      m.number("consent_us", micros(timing->consent));
      m.number("tool_us", micros(timing->tool));
      m.number("total_us", micros(timing->total));
    });
  }
  members.text("tool", record.tool);
  members.text("trace", record.trace);
  members.text("ts", time_text(record.time));
  members.text("way", record.way);
}

}  // namespace

OpenLine open_line(const CallRecord& record, RecordKind kind, const Origin& origin) {
  OpenLine line;
  line.text.reserve(kUsualLine + record.args.size());
  line.text += '{';
  Members members(line.text);
  add_until_hash(members, record, origin);
  line.hash_at = line.text.size();
  add_until_prev(members, record, kind, origin);
  line.prev_at = line.text.size();
  add_until_seq(members, record);
  line.seq_at = line.text.size();
  add_rest(members, record);
  line.text += '}';
  return line;
}

std::string_view cut_text(std::string_view text) {
  if (text.size() <= kMaxText) return text;
  std::size_t end = kMaxText;
  while (end > kMaxText - 4 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

// Once for every line of the trail: digits are put in place, not formatted.
std::string time_text(base::WallTime time) {
  auto day = std::chrono::floor<std::chrono::days>(time);
  std::chrono::year_month_day date(day);
  std::chrono::hh_mm_ss clock(time - day);
  std::string out = "0000-00-00T00:00:00.000000Z";
  auto put = [&](std::size_t last, std::int64_t number) {
    for (; number > 0; number /= 10, --last) out[last] = static_cast<char>('0' + number % 10);
  };
  put(3, static_cast<int>(date.year()));
  put(6, static_cast<unsigned>(date.month()));
  put(9, static_cast<unsigned>(date.day()));
  put(12, clock.hours().count());
  put(15, clock.minutes().count());
  put(18, clock.seconds().count());
  put(25, clock.subseconds().count());
  return out;
}

}  // namespace tool::audit
