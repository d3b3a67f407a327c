#include "toolserver/audit/summaries.h"

#include <algorithm>

#include "base/core/text.h"
#include "toolserver/audit/record.h"

namespace tool::audit {
namespace {

// A subject or address as it is kept: a certificate may hold any bytes.
std::string kept(const std::string& text) {
  return base::is_utf8(text) ? std::string(cut_text(text)) : "(not UTF-8)";
}

base::json::Object numbers(const std::map<std::string, std::uint64_t>& counts) {
  base::json::Object out;
  for (const auto& [name, count] : counts) out[name] = count;
  return out;
}

}  // namespace

double Summaries::refilled(const Source& source, base::WallTime now) {
  double seconds = std::max(0.0, std::chrono::duration<double>(now - source.filled).count());
  return std::min(kSingles, source.allowance + seconds * kPerSecond);
}

// A source with its whole allowance and no counts says nothing a new one would not.
void Summaries::forget_idle(base::WallTime now) {
  if (now - swept_ < std::chrono::seconds(1) && now >= swept_) return;
  swept_ = now;
  std::erase_if(sources_, [&](const auto& one) {
    return one.second.codes.empty() && refilled(one.second, now) >= kSingles;
  });
}

Summaries::Source& Summaries::source_of(const Act& act, base::WallTime now) {
  Key key{act.what, kept(act.issuer), kept(act.subject)};
  auto found = sources_.find(key);
  if (found != sources_.end()) return found->second;
  if (sources_.size() >= kSources) forget_idle(now);
  if (sources_.size() >= kSources) key = {std::string(act.what), "", ""};
  auto [made, is_new] = sources_.try_emplace(std::move(key));
  if (is_new) made->second.filled = now;
  return made->second;
}

bool Summaries::admit(const Act& act, base::WallTime now) {
  Source& source = source_of(act, now);
  source.allowance = refilled(source, now);
  source.filled = std::max(source.filled, now);
  // Once some are counted the rest of the period is, so that lines and counts
  // do not overlap in time.
  if (source.allowance < 1 || !source.codes.empty()) return false;
  source.allowance -= 1;
  return true;
}

void Summaries::count(const Act& act, base::WallTime now) {
  Source& source = source_of(act, now);
  if (source.codes.empty()) {
    ++counted_;
    source.from = now;
  }
  source.to = now;
  ++source.codes[std::string(act.code)];
  bool has_room = source.peers.size() < kPeers || source.peers.contains(act.peer);
  ++source.peers[has_room ? kept(act.peer) : "others"];
}

std::optional<base::json::Object> Summaries::next_due(base::WallTime now) {
  if (counted_ == 0) return std::nullopt;
  for (const auto& [key, source] : sources_) {
    bool is_due = is_ending_ || now - source.from >= kPeriod || now < source.from;
    if (source.codes.empty() || !is_due) continue;
    due_ = key;
    base::json::Object details{{"act", std::get<0>(key)},
                               {"codes", numbers(source.codes)},
                               {"from", time_text(source.from)},
                               {"peers", numbers(source.peers)},
                               {"to", time_text(source.to)}};
    const auto& [what, issuer, subject] = key;
    if (!subject.empty()) details["principal"] = {{"iss", issuer}, {"sub", subject}};
    return details;
  }
  return std::nullopt;
}

void Summaries::written(base::WallTime now) {
  auto found = sources_.find(due_);
  if (found == sources_.end() || found->second.codes.empty()) return;
  found->second.codes.clear();
  found->second.peers.clear();
  --counted_;
  forget_idle(now);
}

}  // namespace tool::audit
