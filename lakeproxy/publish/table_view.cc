#include "lakeproxy/publish/table_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "base/json/json.h"
#include "lakeproxy/materialize/content_hash.h"

namespace lake::publish {
namespace {

// As many earlier metadata files are listed as Iceberg's own clients keep,
// unless the table says fewer.
constexpr std::size_t kMetadataLog = 100;

std::size_t metadata_log_length(const model::TableMetadata& metadata) {
  auto wanted = metadata.properties.find("write.metadata.previous-versions-max");
  if (wanted == metadata.properties.end()) return kMetadataLog;
  std::int64_t count = base::parse_int64(wanted->second).value_or(kMetadataLog);
  return static_cast<std::size_t>(std::clamp<std::int64_t>(count, 1, kMetadataLog));
}

model::JsonText fragment_of(const model::Snapshot& snapshot, const TableViewPtr& before,
                            std::size_t index) {
  // Snapshots are only ever added at the end, so the same place is worth a look.
  if (before && index < before->fragments.size() && index < before->metadata.snapshots.size() &&
      before->metadata.snapshots[index] == snapshot) {
    return before->fragments[index].text;
  }
  return std::make_shared<const std::string>(model::write_fragment(snapshot));
}

void add_snapshots(const model::LakeTable& table, model::TableMetadata& metadata) {
  for (const auto& materialized : table.materialized) {
    const model::Snapshot& snapshot = materialized.snapshot;
    metadata.snapshots.push_back(snapshot);
    metadata.snapshot_log.push_back({snapshot.timestamp_ms, snapshot.snapshot_id});
    metadata.last_sequence_number =
        std::max(metadata.last_sequence_number, snapshot.sequence_number);
    metadata.last_updated_ms = std::max(metadata.last_updated_ms, snapshot.timestamp_ms);
  }
  if (metadata.snapshots.empty()) return;
  metadata.current_snapshot_id = metadata.snapshots.back().snapshot_id;
  model::SnapshotRef main;
  main.snapshot_id = *metadata.current_snapshot_id;
  metadata.refs[std::string(model::kMainBranch)] = main;
  // A tag of a snapshot that the lake has expired points to nothing.
  std::erase_if(metadata.refs, [&](const auto& ref) {
    return metadata.find_snapshot(ref.second.snapshot_id) == nullptr;
  });
}

std::string file_name(const model::TableMetadata& metadata, std::size_t sequence,
                      const std::string& document) {
  return fmt::format("{}/metadata/{:05}-{}.metadata.json", metadata.location, sequence,
                     materialize::content_hash(document));
}

struct Document {
  std::string text;
  std::string location;
  std::int64_t sequence = 0;
};

// `log` holds every file written so far; the document lists the newest.
Document write_document(model::TableMetadata& metadata, model::MetadataFragments& fragments,
                        std::vector<model::MetadataLogEntry> log, std::int64_t sequence) {
  auto length = static_cast<std::ptrdiff_t>(metadata_log_length(metadata));
  if (std::ssize(log) > length) log.erase(log.begin(), log.end() - length);
  fragments.metadata_log.clear();
  for (const auto& entry : log) {
    fragments.metadata_log.push_back(
        std::make_shared<const std::string>(model::write_fragment(entry)));
  }
  metadata.metadata_log = std::move(log);
  Document document;
  document.text = model::write_metadata(metadata, fragments);
  document.location = file_name(metadata, static_cast<std::size_t>(sequence), document.text);
  document.sequence = sequence;
  return document;
}

// After a restart the newest file of the log may be this very state's.
Document find_document(const model::LakeTable& table, const TableViewPtr& before,
                       model::TableMetadata& metadata, model::MetadataFragments& fragments) {
  std::vector<model::MetadataLogEntry> log = table.metadata.metadata_log;
  bool newest_is_older = before && !log.empty() &&
                         log.back().metadata_file == before->metadata_location &&
                         before->fragments.size() != fragments.snapshots.size();
  if (!log.empty() && !newest_is_older) {
    model::MetadataLogEntry last = log.back();
    log.pop_back();
    Document same = write_document(metadata, fragments, log, table.metadata_sequence);
    if (same.location == last.metadata_file) return same;
    log.push_back(std::move(last));
  }
  return write_document(metadata, fragments, std::move(log), table.metadata_sequence + 1);
}

// Joined by hand: the document is large and written already.
model::JsonText body_of(const std::string& location, std::string_view document,
                        std::string_view config) {
  std::string body = R"({"metadata-location":)";
  body.reserve(location.size() + document.size() + config.size() + 64);
  base::json::append_quoted(body, location);
  body.append(R"(,"metadata":)").append(document);
  body.append(R"(,"config":)").append(config).append("}");
  return std::make_shared<const std::string>(std::move(body));
}

}  // namespace

base::Result<MadeView> make_view(model::LakeTable table, const TableViewPtr& before,
                                 std::string_view config) {
  if (table.metadata.format_version != 2) {
    return base::fail(base::ErrorKind::kUnsupported,
                      fmt::format("table {}: format version {} cannot be shown", table.name,
                                  table.metadata.format_version));
  }
  auto view = std::make_shared<TableView>();
  view->metadata = table.metadata;
  add_snapshots(table, view->metadata);
  model::MetadataFragments fragments;
  for (std::size_t i = 0; i < view->metadata.snapshots.size(); ++i) {
    const model::Snapshot& snapshot = view->metadata.snapshots[i];
    fragments.snapshots.push_back({snapshot.snapshot_id, fragment_of(snapshot, before, i)});
    fragments.snapshot_log.push_back(
        std::make_shared<const std::string>(model::write_fragment(view->metadata.snapshot_log[i])));
  }
  Document document = find_document(table, before, view->metadata, fragments);
  view->metadata_location = std::move(document.location);
  view->metadata_sequence = document.sequence;
  view->body = body_of(view->metadata_location, document.text, config);
  view->body_refs = body_of(
      view->metadata_location,
      model::write_metadata(view->metadata, fragments, model::SnapshotSelection::kRefs), config);
  view->fragments = std::move(fragments.snapshots);
  view->etag = materialize::content_hash(view->metadata_location);
  view->table = std::move(table);
  return MadeView{std::move(view), std::move(document.text)};
}

std::string staged_body(const model::TableMetadata& metadata, std::string_view config) {
  return fmt::format(R"({{"metadata":{},"config":{}}})", model::write_metadata(metadata), config);
}

}  // namespace lake::publish
