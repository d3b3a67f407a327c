#include "lakeproxy/operation/catalog/reported_metrics.h"

#include <algorithm>

namespace lake::operation {
namespace {

// A client may say anything; a sum of such numbers must stay one.
constexpr std::int64_t kMostOfOneReport = 1'000'000'000'000'000;

}  // namespace

ReportedMetrics::ReportedMetrics(base::metrics::Registry& metrics)
    : scan_(make_series(metrics, model::ReportType::kScan)),
      commit_(make_series(metrics, model::ReportType::kCommit)) {}

ReportedMetrics::Series ReportedMetrics::make_series(base::metrics::Registry& metrics,
                                                     model::ReportType type) {
  std::string name(model::to_string(type));
  Series series{metrics.counter("lakeproxy_client_reports_total", "Metrics reports of clients.",
                                {{"report", name}}),
                metrics.histogram("lakeproxy_client_reported_seconds",
                                  "Time that clients report for planning a scan or for a commit.",
                                  {{"report", name}}),
                {}};
  for (std::string_view measure : model::known_counters(type)) {
    series.counters.emplace(measure,
                            metrics.counter("lakeproxy_client_reported_total",
                                            "Sums of what clients report, by report and measure.",
                                            {{"report", name}, {"measure", std::string(measure)}}));
  }
  return series;
}

void ReportedMetrics::count(const model::MetricsReport& report) const {
  const Series& series = report.type == model::ReportType::kScan ? scan_ : commit_;
  series.reports.add();
  for (const auto& [name, timer] : report.timers) {
    series.seconds.observe(std::chrono::duration<double>(timer.total).count());
  }
  for (const auto& [name, value] : report.counters) {
    auto counted = std::min(value, kMostOfOneReport);
    series.counters.at(name).add(static_cast<std::uint64_t>(counted));
  }
}

}  // namespace lake::operation
