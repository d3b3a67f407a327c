#pragma once

// Refusals cost a caller nothing, and each line costs the disk 500 bytes: a
// flood of them would fill it, and then nobody's call could be recorded. So
// each source may have some lines at once and one a second after that; what is
// beyond is counted by its code, and one line each ten seconds says the counts.
// Calls that passed authorisation never come here: they are recorded singly.
// Source: docs/wire-3.0.md, "Audit record"; docs/adr/0081-refusals-are-summed.md.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/core/clock.h"
#include "base/json/json.h"

namespace tool::audit {

/// Something that others do to the service, and who did it.
struct Act {
  std::string_view what;  ///< "call_refused", "session_opened" ...; a literal of [a-z_].
  std::string_view code;  ///< How it ended: a code of the wire, or "ok"; a literal.
  std::string subject;    ///< Empty for strangers, who share one allowance.
  std::string issuer;
  std::string peer;  ///< Network address, without port.
};

/// Not thread-safe.
class Summaries {
 public:
  static constexpr double kSingles = 20;  ///< Lines of one source at once.
  static constexpr double kPerSecond = 1;
  static constexpr std::chrono::seconds kPeriod{10};
  static constexpr std::size_t kSources = 4'096;  ///< Beyond, all share one.
  static constexpr std::size_t kPeers = 16;       ///< Named in a summary.

  /// Whether the act gets a line of its own; takes it from the allowance.
  [[nodiscard]] bool admit(const Act& act, base::WallTime now);
  /// Counts an act that gets none.
  void count(const Act& act, base::WallTime now);

  /// A summary that is due at `now`; `details` of its event. Source by source,
  /// until there is none.
  [[nodiscard]] std::optional<base::json::Object> next_due(base::WallTime now);
  /// The one that next_due() gave is written.
  void written(base::WallTime now);
  [[nodiscard]] bool has_counts() const { return counted_ > 0; }
  /// All counts are due from now on.
  void end() { is_ending_ = true; }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // what, issuer, subject
  struct Source {
    double allowance = kSingles;
    base::WallTime filled{};
    std::map<std::string, std::uint64_t> codes;
    std::map<std::string, std::uint64_t> peers;
    base::WallTime from{};
    base::WallTime to{};
  };

  Source& source_of(const Act& act, base::WallTime now);
  void forget_idle(base::WallTime now);
  static double refilled(const Source& source, base::WallTime now);

  std::map<Key, Source> sources_;
  std::uint64_t counted_ = 0;  // Sources that have counts.
  Key due_;                    // Of the last next_due().
  base::WallTime swept_{};
  bool is_ending_ = false;
};

}  // namespace tool::audit
