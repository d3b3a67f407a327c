#include "toolserver/pipeline/metrics.h"

namespace tool::pipeline {
namespace {

constexpr std::string_view kCalls = "securetool_calls_total";
constexpr std::string_view kCallsHelp = "Calls of tools by how they ended.";
constexpr std::string_view kSeconds = "securetool_call_seconds";
constexpr std::string_view kSecondsHelp =
    "Time of calls: in the whole pipeline, and in the tool alone.";

double seconds(std::chrono::microseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

CallMetrics::CallMetrics(base::metrics::Registry& registry)
    : answered_(registry.counter(kCalls, kCallsHelp, {{"code", "ok"}})),
      redactions_(registry.counter("securetool_redactions_total",
                                   "Places that output filters took out of answers.")),
      total_(registry.histogram(kSeconds, kSecondsHelp, {{"part", "total"}})),
      tool_(registry.histogram(kSeconds, kSecondsHelp, {{"part", "tool"}})) {
  for (int i = 0; i <= static_cast<int>(Code::kInternal); ++i) {
    std::string label(name(static_cast<Code>(i)));
    refused_.push_back(registry.counter(kCalls, kCallsHelp, {{"code", label}}));
  }
}

void CallMetrics::ended(std::optional<Code> code, std::chrono::microseconds total) const {
  (code ? refused_[static_cast<std::size_t>(*code)] : answered_).add();
  total_.observe(seconds(total));
}

void CallMetrics::ran(std::chrono::microseconds time) const { tool_.observe(seconds(time)); }

}  // namespace tool::pipeline
