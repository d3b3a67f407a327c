#include "toolserver/guard/decision_cache.h"

#include "toolserver/model/digest.h"

namespace tool::guard {

std::string DecisionCache::key_of(std::string_view question) { return digest(question); }

std::optional<PolicyAnswer> DecisionCache::find(const std::string& key, Time now) {
  std::lock_guard held(mutex_);
  auto found = answers_.find(key);
  if (found == answers_.end()) return std::nullopt;
  if (found->second.until > now) return found->second.answer;
  answers_.erase(found);
  return std::nullopt;
}

void DecisionCache::forget_others(const std::string& revision) {
  if (revision == revision_) return;
  answers_.clear();
  revision_ = revision;
}

void DecisionCache::saw(const std::string& revision) {
  std::lock_guard held(mutex_);
  forget_others(revision);
}

void DecisionCache::came(const std::string& key, const PolicyAnswer& answer, Time now) {
  std::lock_guard held(mutex_);
  forget_others(answer.revision);
  bool is_kept = answer.is_kept && !answer.quarantines && !answer.revision.empty();
  if (!is_kept || lifetime_.count() == 0) return;
  if (answers_.size() >= entries_) {
    std::erase_if(answers_, [&](const auto& one) { return one.second.until <= now; });
  }
  // A full memory costs a question more, never a wrong answer.
  if (answers_.size() < entries_) answers_[key] = {answer, now + lifetime_};
}

}  // namespace tool::guard
