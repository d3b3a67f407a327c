#pragma once

// What a client asks of the planner.
// Source: Iceberg REST description, "PlanTableScanRequest".

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"
#include "lakeproxy/iceberg/scan/expression.h"
#include "lakeproxy/model/ids.h"

namespace lake::scan {

/// Of "select" and of "stats-fields".
inline constexpr std::size_t kMostNames = 20'000;

enum class SchemaChoice : std::uint8_t { kTable, kSnapshot };

/// What snapshots add from one, itself not included, up to another.
struct SnapshotRange {
  model::SnapshotId after;
  model::SnapshotId last;
};

struct ScanRequest {
  std::optional<model::SnapshotId> snapshot_id;  ///< Nothing: main's.
  std::optional<SnapshotRange> range;            ///< Then no snapshot_id.
  std::vector<std::string> select;               ///< Empty: all columns.
  std::optional<Expression> filter;
  NameCase names = NameCase::kSensitive;
  SchemaChoice schema = SchemaChoice::kTable;
  std::vector<std::string> stats_fields;
  std::optional<std::int64_t> min_rows;
};

/// Errors: kInvalid  a member of another type, a point and a range together, a range with one end,
///         more names than kMostNames; those of expression_from_json(). Each names the member.
[[nodiscard]] base::Result<ScanRequest> scan_request_from_json(const base::json::Value& body);

}  // namespace lake::scan
