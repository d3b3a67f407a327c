#include "lakeproxy/engine/files/engine_pool.h"

namespace lake::exporter {
namespace {

constexpr const char* kJobs = "lakeproxy_engine_jobs";
constexpr const char* kHelp = "Jobs of the embedded engine, by what they are for.";

}  // namespace

EngineMeter::EngineMeter(base::metrics::Registry& metrics, const std::string& work)
    : waiting(metrics.gauge(kJobs, kHelp, {{"work", work}, {"state", "waiting"}})),
      running(metrics.gauge(kJobs, kHelp, {{"work", work}, {"state", "running"}})),
      done(metrics.counter("lakeproxy_engine_jobs_total", "Jobs that the embedded engine has done.",
                           {{"work", work}})) {}

}  // namespace lake::exporter
