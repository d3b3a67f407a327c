#pragma once

// What an Iceberg client says its scan or commit has cost. Names of measures
// are open in the API; those that Iceberg's clients send are a closed set here,
// so that nothing a client invents becomes a label or a field of a log line.
// Source: Iceberg REST description, "ReportMetricsRequest"; Iceberg 1.11,
// ScanMetricsResult and CommitMetricsResult.

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"
#include "lakeproxy/model/ids.h"

namespace lake::model {

enum class ReportType : std::uint8_t { kScan, kCommit };
[[nodiscard]] std::string_view to_string(ReportType type);

struct MetricsReport {
  ReportType type = ReportType::kScan;
  std::string table_name;  ///< As the client calls it.
  SnapshotId snapshot_id;
  std::string operation;  ///< Of a commit.
  /// Known counters by name, none negative; of a literal of known_counters().
  std::map<std::string_view, std::int64_t> counters;
  /// Known timers by name: the whole time, and how often it was taken.
  struct Timer {
    std::chrono::nanoseconds total{0};
    std::int64_t count = 0;
  };
  std::map<std::string_view, Timer> timers;
};

/// The counters that reports of that type may hold.
[[nodiscard]] const std::vector<std::string_view>& known_counters(ReportType type);

/// Measures with other names are passed over.
/// Errors: kInvalid  another report-type, a member that is missing or of another
///         type, a measure that is neither counter nor timer, a negative value,
///         an unknown time unit; names the member and the rule.
[[nodiscard]] base::Result<MetricsReport> metrics_report_from_json(const base::json::Value& body);

}  // namespace lake::model
