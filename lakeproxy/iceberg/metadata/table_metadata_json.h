#pragma once

// metadata.json, written and read. A table with a thousand snapshots is asked
// for on every request, and a snapshot never changes: so a document can be put
// together from texts that the caller keeps, and only the small rest is
// written anew.
// Source: Iceberg table specification, "Table Metadata Fields" and Appendix C.

#include <memory>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"
#include "lakeproxy/iceberg/metadata/table_metadata.h"

namespace lake::model {

/// Which snapshots a document lists.
/// Source: Iceberg REST description, "loadTable", parameter "snapshots".
enum class SnapshotSelection : std::uint8_t {
  kAll,
  kRefs,  ///< Those a branch or tag points to; the snapshot log stays whole.
};

/// A piece of JSON that is written once and shared by many documents.
using JsonText = std::shared_ptr<const std::string>;

struct SnapshotFragment {
  SnapshotId snapshot_id;
  JsonText text;  ///< Of write_fragment(Snapshot).
};

/// Replaces the members of TableMetadata of the same names. No text is null.
struct MetadataFragments {
  std::vector<SnapshotFragment> snapshots;  ///< Oldest first.
  /// Each one entry of write_fragment, or several joined by ','.
  std::vector<JsonText> snapshot_log;
  std::vector<JsonText> metadata_log;
};

[[nodiscard]] std::string write_fragment(const Snapshot& snapshot);
[[nodiscard]] std::string write_fragment(const SnapshotLogEntry& entry);
[[nodiscard]] std::string write_fragment(const MetadataLogEntry& entry);

/// The document of a table of format version 2 or 3; aborts on another version.
[[nodiscard]] std::string write_metadata(const TableMetadata& table,
                                         SnapshotSelection selection = SnapshotSelection::kAll);
/// The same with `fragments` in place of the table's snapshots and logs, which
/// may then be empty.
[[nodiscard]] std::string write_metadata(const TableMetadata& table,
                                         const MetadataFragments& fragments,
                                         SnapshotSelection selection = SnapshotSelection::kAll);

/// Reads format versions 1 to 3. Version 1 comes back as the version 2 that it
/// is after an upgrade (Appendix E); "main" is there whenever a current
/// snapshot is, and snapshots are in order of their sequence numbers.
/// Errors: kInvalid  a member is missing or breaks a rule, or points to a
///         schema, spec, order or snapshot that is not listed;
///         kUnsupported  another format version, or an encrypted table.
[[nodiscard]] base::Result<TableMetadata> table_metadata_from_json(const base::json::Value& value);

}  // namespace lake::model
