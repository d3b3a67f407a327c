#pragma once

// How calls end and how long they take, for the dashboards. Labels are the
// codes of the wire alone: no word of a caller becomes one.

#include <array>
#include <chrono>
#include <optional>
#include <vector>

#include "base/metrics/registry.h"
#include "toolserver/model/fault.h"

namespace tool::pipeline {

class CallMetrics {
 public:
  explicit CallMetrics(base::metrics::Registry& registry);

  /// `code` is nothing for a call that was answered.
  void ended(std::optional<Code> code, std::chrono::microseconds total) const;
  void ran(std::chrono::microseconds time) const;
  void redacted(std::uint64_t count) const { redactions_.add(count); }

 private:
  std::vector<base::metrics::Counter> refused_;  // By code.
  base::metrics::Counter answered_;
  base::metrics::Counter redactions_;
  base::metrics::Histogram total_;
  base::metrics::Histogram tool_;
};

}  // namespace tool::pipeline
