#include "lakeproxy/operation/tables.h"

namespace lake::operation {
namespace {

// The measures stand in one field: their names are a closed set, but many.
std::string measures_text(const model::MetricsReport& report) {
  std::string text;
  for (const auto& [name, value] : report.counters) {
    text.append(text.empty() ? "" : " ").append(name).append("=").append(std::to_string(value));
  }
  for (const auto& [name, timer] : report.timers) {
    auto micros = std::chrono::duration_cast<std::chrono::microseconds>(timer.total).count();
    text.append(text.empty() ? "" : " ").append(name).append("=");
    text.append(std::to_string(micros)).append("us");
  }
  return text;
}

}  // namespace

base::Task<base::Result<void>> report_metrics(base::RequestContext context, Catalog* catalog,
                                              policy::Authorized<ReportMetrics> request) {
  CO_RETURN_IF_ERROR(co_await catalog->reader->find_table(context, request->identifier));
  const model::MetricsReport& report = request->report;
  catalog->reported_metrics->count(report);
  catalog->log->for_request(context.request_id)
      .info("metrics report", {{"report", model::to_string(report.type)},
                               {"table", request->identifier.display()},
                               {"snapshot", report.snapshot_id.value},
                               {"commit_operation", report.operation},
                               {"measures", measures_text(report)}});
  co_return base::Result<void>{};
}

}  // namespace lake::operation
