#include "lakeproxy/operation/catalog/commit_metrics.h"

namespace lake::operation {

CommitMetrics::CommitMetrics(base::metrics::Registry& metrics)
    : own_seconds(metrics.histogram("lakeproxy_commit_own_seconds",
                                    "Time of a commit outside PostgreSQL and the object store.")),
      postgres_round_trips(metrics.counter("lakeproxy_commit_postgres_round_trips_total",
                                           "PostgreSQL round trips that commits waited for.")),
      store_requests(metrics.counter("lakeproxy_commit_store_requests_total",
                                     "Object store requests that commits waited for.")) {}

MeasuredCommit::MeasuredCommit(CommitMetrics& metrics, measure::WaitMeter& meter,
                               std::uint64_t request_id)
    : metrics_(metrics), meter_(meter), request_id_(request_id) {
  meter_.watch(request_id_);
}

MeasuredCommit::~MeasuredCommit() { meter_.take(request_id_); }

void MeasuredCommit::answered() {
  measure::Waits waits = meter_.take(request_id_);
  auto own = std::chrono::steady_clock::now() - began_ - waits.waited;
  metrics_.own_seconds.observe(std::chrono::duration<double>(own).count());
  metrics_.postgres_round_trips.add(waits.postgres);
  metrics_.store_requests.add(waits.store);
}

}  // namespace lake::operation
