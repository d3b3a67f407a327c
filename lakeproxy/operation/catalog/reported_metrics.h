#pragma once

// What clients report of their scans and commits, as series of a closed set.

#include <map>

#include "base/metrics/registry.h"
#include "lakeproxy/operation/catalog/metrics_report.h"

namespace lake::operation {

/// Shared by all workers.
class ReportedMetrics {
 public:
  explicit ReportedMetrics(base::metrics::Registry& metrics);
  void count(const model::MetricsReport& report) const;

 private:
  struct Series {
    base::metrics::Counter reports;
    base::metrics::Histogram seconds;
    std::map<std::string_view, base::metrics::Counter> counters;
  };
  static Series make_series(base::metrics::Registry& metrics, model::ReportType type);

  Series scan_;
  Series commit_;
};

}  // namespace lake::operation
