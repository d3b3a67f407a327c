#include "lakeproxy/operation/catalog/metrics_report.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/json/fields.h"

namespace lake::model {
namespace {

using base::ErrorKind;
using base::fail;
using base::json::Fields;

constexpr std::size_t kMaxMeasures = 100;
constexpr std::size_t kMaxTextBytes = 2048;

const std::vector<std::string_view>& known_timers(ReportType type) {
  static const std::vector<std::string_view> scan{"total-planning-duration"};
  static const std::vector<std::string_view> commit{"total-duration"};
  return type == ReportType::kScan ? scan : commit;
}

std::optional<std::string_view> find_name(const std::vector<std::string_view>& known,
                                          std::string_view name) {
  auto found = std::ranges::find(known, name);
  if (found == known.end()) return std::nullopt;
  return *found;
}

base::Result<std::int64_t> not_negative(const Fields& json, std::string_view key) {
  ASSIGN_OR_RETURN(auto value, json.int64(key));
  if (value < 0) return fail(ErrorKind::kInvalid, json.path_of(key) + ": must not be negative");
  return value;
}

base::Result<std::string> short_text(const Fields& json, std::string_view key) {
  ASSIGN_OR_RETURN(auto text, json.string(key));
  if (text.size() > kMaxTextBytes) {
    return fail(ErrorKind::kInvalid, json.path_of(key) + ": must have at most 2048 bytes");
  }
  return text;
}

// Nanoseconds in a unit. Source: Iceberg 1.11, java.util.concurrent.TimeUnit.
base::Result<std::int64_t> unit_of(const Fields& json) {
  static const std::map<std::string_view, std::int64_t, std::less<>> kUnits{
      {"nanoseconds", 1},           {"microseconds", 1'000},     {"milliseconds", 1'000'000},
      {"seconds", 1'000'000'000},   {"minutes", 60'000'000'000}, {"hours", 3'600'000'000'000},
      {"days", 86'400'000'000'000},
  };
  ASSIGN_OR_RETURN(auto name, json.string("time-unit"));
  auto unit = kUnits.find(name);
  if (unit == kUnits.end()) {
    return fail(ErrorKind::kInvalid, json.path_of("time-unit") + ": is not a unit of time");
  }
  return unit->second;
}

base::Result<MetricsReport::Timer> read_timer(const Fields& json) {
  MetricsReport::Timer timer;
  ASSIGN_OR_RETURN(timer.count, not_negative(json, "count"));
  ASSIGN_OR_RETURN(auto unit, unit_of(json));
  ASSIGN_OR_RETURN(auto total, not_negative(json, "total-duration"));
  if (total > std::numeric_limits<std::int64_t>::max() / unit) {
    return fail(ErrorKind::kInvalid, json.path_of("total-duration") + ": is too long");
  }
  timer.total = std::chrono::nanoseconds(total * unit);
  return timer;
}

base::Status read_measure(const Fields& json, std::string_view name, MetricsReport& report) {
  if (json.has("time-unit")) {
    ASSIGN_OR_RETURN(auto timer, read_timer(json));
    if (auto known = find_name(known_timers(report.type), name)) report.timers[*known] = timer;
    return {};
  }
  RETURN_IF_ERROR(json.string("unit"));
  ASSIGN_OR_RETURN(auto value, not_negative(json, "value"));
  if (auto known = find_name(known_counters(report.type), name)) report.counters[*known] = value;
  return {};
}

base::Status read_measures(const Fields& body, MetricsReport& report) {
  ASSIGN_OR_RETURN(const auto* measures, body.value("metrics"));
  RETURN_IF_ERROR(Fields::of(*measures, body.path_of("metrics")));
  if (measures->as_object().size() > kMaxMeasures) {
    return fail(ErrorKind::kInvalid, body.path_of("metrics") + ": must have at most 100 members");
  }
  for (const auto& member : measures->as_object()) {
    std::string path = body.path_of("metrics") + "." + std::string(member.key());
    ASSIGN_OR_RETURN(auto json, Fields::of(member.value(), std::move(path)));
    RETURN_IF_ERROR(read_measure(json, member.key(), report));
  }
  return {};
}

base::Status check_scan(const Fields& body) {
  RETURN_IF_ERROR(body.value("filter"));
  RETURN_IF_ERROR(body.int32("schema-id"));
  RETURN_IF_ERROR(body.int32s("projected-field-ids"));
  RETURN_IF_ERROR(body.strings("projected-field-names"));
  return {};
}

base::Result<ReportType> read_type(const Fields& body) {
  ASSIGN_OR_RETURN(auto text, body.string("report-type"));
  if (text == "scan-report") return ReportType::kScan;
  if (text == "commit-report") return ReportType::kCommit;
  return fail(ErrorKind::kInvalid,
              body.path_of("report-type") + ": must be scan-report or commit-report");
}

}  // namespace

std::string_view to_string(ReportType type) {
  return type == ReportType::kScan ? "scan" : "commit";
}

const std::vector<std::string_view>& known_counters(ReportType type) {
  static const std::vector<std::string_view> scan{"result-data-files",
                                                  "result-delete-files",
                                                  "total-data-manifests",
                                                  "total-delete-manifests",
                                                  "scanned-data-manifests",
                                                  "skipped-data-manifests",
                                                  "scanned-delete-manifests",
                                                  "skipped-delete-manifests",
                                                  "total-file-size-in-bytes",
                                                  "skipped-data-files",
                                                  "skipped-delete-files",
                                                  "indexed-delete-files",
                                                  "equality-delete-files",
                                                  "positional-delete-files",
                                                  "dvs",
                                                  "total-delete-file-size-in-bytes"};
  static const std::vector<std::string_view> commit{
      "attempts",           "added-data-files",       "removed-data-files",
      "added-delete-files", "removed-delete-files",   "added-records",
      "removed-records",    "added-files-size-bytes", "removed-files-size-bytes"};
  return type == ReportType::kScan ? scan : commit;
}

base::Result<MetricsReport> metrics_report_from_json(const base::json::Value& value) {
  ASSIGN_OR_RETURN(const auto body, Fields::of(value, ""));
  MetricsReport report;
  ASSIGN_OR_RETURN(report.type, read_type(body));
  ASSIGN_OR_RETURN(report.table_name, short_text(body, "table-name"));
  ASSIGN_OR_RETURN(auto snapshot, body.int64("snapshot-id"));
  report.snapshot_id = SnapshotId(snapshot);
  if (report.type == ReportType::kScan) {
    RETURN_IF_ERROR(check_scan(body));
  } else {
    RETURN_IF_ERROR(body.int64("sequence-number"));
    ASSIGN_OR_RETURN(report.operation, short_text(body, "operation"));
  }
  RETURN_IF_ERROR(body.opt_string_map("metadata"));
  RETURN_IF_ERROR(read_measures(body, report));
  return report;
}

}  // namespace lake::model
