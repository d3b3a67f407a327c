#pragma once

// The state of a table at one commit, and the names that point to it.
// Source: Iceberg table specification, "Snapshots" and "Snapshot References".

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lakeproxy/model/ids.h"

namespace lake::model {

/// Milliseconds since 1970-01-01T00:00 UTC.
using TimestampMs = std::int64_t;

enum class Operation : std::uint8_t { kAppend, kReplace, kOverwrite, kDelete };
[[nodiscard]] std::string_view to_string(Operation operation);
[[nodiscard]] std::optional<Operation> parse_operation(std::string_view text);

struct Snapshot {
  SnapshotId snapshot_id;
  std::optional<SnapshotId> parent_snapshot_id;
  std::int64_t sequence_number = 0;
  TimestampMs timestamp_ms = 0;
  std::string manifest_list;  ///< Location, "s3://...".
  Operation operation = Operation::kAppend;
  std::map<std::string, std::string> summary;  ///< Without "operation".
  std::optional<std::int32_t> schema_id;
  std::optional<std::int64_t> first_row_id;  ///< Format version 3.
  std::optional<std::int64_t> added_rows;    ///< Format version 3.

  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

enum class RefType : std::uint8_t { kBranch, kTag };

struct SnapshotRef {
  SnapshotId snapshot_id;
  RefType type = RefType::kBranch;
  std::optional<std::int64_t> max_ref_age_ms;
  std::optional<std::int64_t> max_snapshot_age_ms;
  std::optional<std::int32_t> min_snapshots_to_keep;

  friend bool operator==(const SnapshotRef&, const SnapshotRef&) = default;
};

inline constexpr std::string_view kMainBranch = "main";

struct SnapshotLogEntry {
  TimestampMs timestamp_ms = 0;
  SnapshotId snapshot_id;
  friend bool operator==(const SnapshotLogEntry&, const SnapshotLogEntry&) = default;
};

struct MetadataLogEntry {
  TimestampMs timestamp_ms = 0;
  std::string metadata_file;
  friend bool operator==(const MetadataLogEntry&, const MetadataLogEntry&) = default;
};

}  // namespace lake::model
