#include <fmt/format.h>

#include <algorithm>

#include "toolserver/audit/verify.h"

namespace tool::audit {
namespace {

using base::json::Object;

boost::json::string text(std::string_view value) { return boost::json::string(value); }

Object broken_json(const BrokenLine& broken) {
  return Object{{"file", text(broken.file)},
                {"line", broken.line},
                {"offset", broken.offset},
                {"seq", broken.seq},
                {"rule", text(broken.rule)}};
}

std::string_view explain(std::string_view rule) {
  if (rule == "seq") return "its number is not the next one: a line is missing, twice or moved";
  if (rule == "prev") return "it does not go on from the line before";
  if (rule == "hash") return "it was changed: its hash is of another text";
  if (rule == "signature") {
    return "a checkpoint that no key which was given made: it is forged, or an old key is missing "
           "(--key, or audit.old_keys)";
  }
  if (rule == "covers") return "a checkpoint that vouches for other lines than these";
  if (rule == "weaker_key") return "the shared secret signed it, after a key pair had signed";
  if (rule == "torn") return "it has no end, and files follow";
  if (rule == "too_long") return "it is longer than any line of a trail";
  if (rule == "fields") return "a member that each line has is missing or malformed";
  return "it is not a line as the service writes it";
}

std::string range_text(const LineRange& range) {
  return range.from == range.to ? fmt::format("line {}", range.from)
                                : fmt::format("lines {} to {}", range.from, range.to);
}

// The first sentence: what is proven, or what is not.
std::string headline(const VerifyReport& r) {
  std::string where = fmt::format("{}, {} in {} {}", r.path, range_text({r.first_seq, r.head.seq}),
                                  r.files, r.files == 1 ? "file" : "files");
  switch (r.verdict()) {
    case Verdict::kBroken: return fmt::format("NOT INTACT: {}\n", where);
    case Verdict::kUnsigned:
      return fmt::format("NOT PROVEN: {}: no change is seen, but some lines were never signed\n",
                         where);
    case Verdict::kIntact: break;
  }
  if (!r.signatures_checked) {
    return fmt::format(
        "The chain holds: {}. No signature was checked, since no key is known: who can write the "
        "folder can make such a chain anew.\n",
        where);
  }
  if (r.signed_seq < r.first_seq) {
    return fmt::format("Intact, but nothing was signed yet: {}\n", where);
  }
  return fmt::format("Intact: {}\n", where);
}

void tell_faults(std::string& out, const VerifyReport& r) {
  if (r.broken) {
    out +=
        fmt::format("  broken at line {} ({}, line {} of the file, rule {}): {}\n", r.broken->seq,
                    r.broken->file, r.broken->line, r.broken->rule, explain(r.broken->rule));
  }
  for (const auto& receipt : r.missing) {
    out += fmt::format("  missing: line {} of the receipt {}:{} is not in the trail\n", receipt.seq,
                       receipt.seq, receipt.hash);
  }
  for (const auto& head : r.missing_witnessed) {
    out += fmt::format("  missing: the witness has a checkpoint of line {}, which is not here\n",
                       head.seq);
  }
  for (const auto& one : r.taken_over) {
    out += fmt::format(
        "  {}: {} lines were not signed when the service started at line {}; who could write the "
        "folder before could have changed them{}\n",
        range_text(one.range), one.lines, one.start,
        one.is_accepted ? " (accepted)"
                        : fmt::format(". If a crash explains it: --accept-unsigned {}-{}",
                                      one.range.from, one.range.to));
  }
}

void tell_signatures(std::string& out, const VerifyReport& r) {
  if (r.first_seq > 1) {
    out += fmt::format("  begins at line {}: what came before is not here and not checked\n",
                       r.first_seq);
  }
  for (const auto& key : r.keys) {
    out += fmt::format("  signed by {} from line {} on: {} checkpoints\n",
                       key.kid == "secret" ? "the shared secret" : "key " + key.kid, key.first_seq,
                       key.checkpoints);
  }
  if (r.unsigned_tail == 0) return;
  out += fmt::format("  the last {} lines are not signed {}\n", r.unsigned_tail,
                     r.is_tail_too_long
                         ? "although the service would have signed them: checkpoints were removed"
                         : "yet; a running service signs them soon");
}

void tell_counts(std::string& out, const VerifyReport& r) {
  out +=
      fmt::format("  {} calls, {} refused, {} starts of the service", r.calls, r.refused, r.starts);
  if (r.unfinished > 0) out += fmt::format(", {} calls without an end yet", r.unfinished);
  out += '\n';
  if (r.interrupted_count > 0) {
    out += fmt::format("  {} calls were interrupted by an end of the service", r.interrupted_count);
    if (!r.interrupted.empty()) {
      out += fmt::format(", the first {} in line {}", r.interrupted[0].tool, r.interrupted[0].seq);
    }
    out += '\n';
  }
  if (r.lost > 0) out += fmt::format("  {} lines could not be written\n", r.lost);
  if (r.torn_bytes > 0) {
    out += fmt::format("  {} bytes after the last line: a write under way, or a crash\n",
                       r.torn_bytes);
  }
  out += fmt::format("  head: {}:{}\n", r.head.seq, r.head.hash);
}

void add_lists(Object& json, const VerifyReport& r) {
  auto& calls_json = json["interrupted"].emplace_array();
  for (const auto& call : r.interrupted) {
    calls_json.push_back(
        Object{{"seq", call.seq}, {"rid", text(call.request_id)}, {"tool", text(call.tool)}});
  }
  auto& ranges = json["unsigned"].emplace_array();
  for (const auto& one : r.taken_over) {
    ranges.push_back(Object{{"from", one.range.from},
                            {"to", one.range.to},
                            {"lines", one.lines},
                            {"start", one.start},
                            {"accepted", one.is_accepted}});
  }
  auto& keys_json = json["keys"].emplace_array();
  for (const auto& key : r.keys) {
    keys_json.push_back(Object{
        {"kid", text(key.kid)}, {"first_seq", key.first_seq}, {"checkpoints", key.checkpoints}});
  }
  auto& receipts = json["missing"].emplace_array();
  for (const auto& receipt : r.missing) {
    receipts.push_back(Object{{"seq", receipt.seq}, {"hash", text(receipt.hash)}});
  }
  auto& heads = json["missing_witnessed"].emplace_array();
  for (const auto& head : r.missing_witnessed) {
    heads.push_back(Object{{"seq", head.seq}, {"hash", text(head.hash_text())}});
  }
}

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kIntact: return "intact";
    case Verdict::kUnsigned: return "unsigned";
    case Verdict::kBroken: return "broken";
  }
  return "";
}

Verdict VerifyReport::verdict() const {
  if (broken || is_tail_too_long || !missing.empty() || !missing_witnessed.empty()) {
    return Verdict::kBroken;
  }
  bool all_accepted = std::ranges::all_of(taken_over, &UnsignedLines::is_accepted);
  return all_accepted ? Verdict::kIntact : Verdict::kUnsigned;
}

Object VerifyReport::to_json() const {
  Object json{{"intact", is_intact()},
              {"verdict", text(name(verdict()))},
              {"signatures_checked", signatures_checked},
              {"files", files},
              {"first_seq", first_seq},
              {"lines", lines},
              {"calls", calls},
              {"refused", refused},
              {"starts", starts},
              {"checkpoints", checkpoints},
              {"lost", lost},
              {"torn_bytes", torn_bytes},
              {"unfinished", unfinished},
              {"interrupted_count", interrupted_count},
              {"signed_seq", signed_seq},
              {"unsigned_tail", unsigned_tail},
              {"unsigned_tail_too_long", is_tail_too_long},
              {"head", {{"seq", head.seq}, {"hash", text(head.hash)}}}};
  if (broken) json["broken"] = broken_json(*broken);
  add_lists(json, *this);
  return json;
}

std::string VerifyReport::to_text() const {
  std::string out = headline(*this);
  tell_faults(out, *this);
  tell_signatures(out, *this);
  tell_counts(out, *this);
  return out;
}

}  // namespace tool::audit
