#pragma once

// Where the time of a commit goes: ours, apart from what PostgreSQL and the
// object store take, and how often it asks them before it answers.

#include "base/metrics/registry.h"
#include "lakeproxy/measure/wait_meter.h"

namespace lake::operation {

/// Shared by all workers.
struct CommitMetrics {
  explicit CommitMetrics(base::metrics::Registry& metrics);
  base::metrics::Histogram own_seconds;
  base::metrics::Counter postgres_round_trips;
  base::metrics::Counter store_requests;
};

/// One commit, from its making on.
class MeasuredCommit {
 public:
  /// Both outlive it.
  MeasuredCommit(CommitMetrics& metrics, measure::WaitMeter& meter, std::uint64_t request_id);
  MeasuredCommit(const MeasuredCommit&) = delete;
  MeasuredCommit& operator=(const MeasuredCommit&) = delete;
  ~MeasuredCommit();
  /// Counts it: the answer is about to be given.
  void answered();

 private:
  CommitMetrics& metrics_;
  measure::WaitMeter& meter_;
  std::uint64_t request_id_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace lake::operation
