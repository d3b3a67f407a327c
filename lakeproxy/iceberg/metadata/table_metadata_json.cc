#include "lakeproxy/iceberg/metadata/table_metadata_json.h"

#include <cstdlib>

#include "lakeproxy/iceberg/metadata/snapshot_json.h"
#include "lakeproxy/iceberg/metadata/table_metadata_parts.h"

namespace lake::model {
namespace {

/// Enough for all but the widest tables; saves the first few moves.
constexpr std::size_t kUsualHeadBytes = 8 * 1024;

template <class T>
JsonText share(const T& value) {
  return std::make_shared<const std::string>(write_fragment(value));
}

MetadataFragments fragments_of(const TableMetadata& table) {
  MetadataFragments out;
  for (const Snapshot& snapshot : table.snapshots) {
    out.snapshots.push_back({snapshot.snapshot_id, share(snapshot)});
  }
  for (const SnapshotLogEntry& entry : table.snapshot_log) {
    out.snapshot_log.push_back(share(entry));
  }
  for (const MetadataLogEntry& entry : table.metadata_log) {
    out.metadata_log.push_back(share(entry));
  }
  return out;
}

std::size_t expected_size(const MetadataFragments& fragments) {
  std::size_t size = kUsualHeadBytes;
  for (const SnapshotFragment& snapshot : fragments.snapshots) size += snapshot.text->size() + 1;
  for (const JsonText& text : fragments.snapshot_log) size += text->size() + 1;
  for (const JsonText& text : fragments.metadata_log) size += text->size() + 1;
  return size;
}

}  // namespace

std::string write_fragment(const Snapshot& snapshot) {
  return base::json::write(to_json(snapshot));
}

std::string write_fragment(const SnapshotLogEntry& entry) {
  std::string out;
  MemberWriter json(out);
  json.number("timestamp-ms", entry.timestamp_ms);
  json.number("snapshot-id", entry.snapshot_id.value);
  json.end();
  return out;
}

std::string write_fragment(const MetadataLogEntry& entry) {
  std::string out;
  MemberWriter json(out);
  json.number("timestamp-ms", entry.timestamp_ms);
  json.string("metadata-file", entry.metadata_file);
  json.end();
  return out;
}

std::string write_metadata(const TableMetadata& table, SnapshotSelection selection) {
  return write_metadata(table, fragments_of(table), selection);
}

std::string write_metadata(const TableMetadata& table, const MetadataFragments& fragments,
                           SnapshotSelection selection) {
  std::string out;
  out.reserve(expected_size(fragments));
  switch (table.format_version) {
    case 2: write_metadata_v2(out, table, fragments, selection); break;
    case 3: write_metadata_v3(out, table, fragments, selection); break;
    default: std::abort();
  }
  return out;
}

}  // namespace lake::model
