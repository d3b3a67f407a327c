#pragma once

// Equal questions to equal policies have equal answers. The key is the whole
// question, so nothing that a caller says or leaves out can meet the answer to
// another one; and the policies' revision, so that a change of them forgets all.

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "toolserver/guard/policy.h"

namespace tool::guard {

/// Safe to use from any thread.
class DecisionCache {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// `lifetime` 0 keeps nothing.
  DecisionCache(std::chrono::milliseconds lifetime, std::size_t entries)
      : lifetime_(lifetime), entries_(entries) {}

  [[nodiscard]] static std::string key_of(std::string_view question);

  [[nodiscard]] std::optional<PolicyAnswer> find(const std::string& key, Time now);
  /// Tells of the revision that is in force: answers of another are forgotten.
  void saw(const std::string& revision);
  /// Tells of an answer that came now, and of its revision. It is kept if it may
  /// be and its revision is known.
  void came(const std::string& key, const PolicyAnswer& answer, Time now);

 private:
  struct Entry {
    PolicyAnswer answer;
    Time until;
  };
  const std::chrono::milliseconds lifetime_;
  const std::size_t entries_;
  void forget_others(const std::string& revision);  // With mutex_ held.

  std::mutex mutex_;
  std::string revision_;
  std::unordered_map<std::string, Entry> answers_;  // All of revision_.
};

}  // namespace tool::guard
