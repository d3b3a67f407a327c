#include "lakeproxy/to_iceberg/publish/loaded_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/core/text.h"
#include "base/json/json.h"
#include "lakeproxy/derive/plan/content_hash.h"
#include "lakeproxy/iceberg/manifest/header_schema.h"
#include "lakeproxy/iceberg/update/metadata_change.h"
#include "lakeproxy/model/server_folder.h"

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

// Snapshots are only ever added at the end, so the same place is worth a look.
model::JsonText fragment_of(const model::SnapshotPtr& snapshot, const LoadedTablePtr& before,
                            std::size_t index) {
  if (before && index < before->fragments.size()) {
    const model::SnapshotPtr& held = before->metadata.snapshots.items()[index];
    if (held == snapshot || *held == *snapshot) return before->fragments[index].text;
  }
  return std::make_shared<const std::string>(model::write_fragment(*snapshot));
}

model::JsonText snapshot_log_of(const std::vector<model::SnapshotLogEntry>& log,
                                const LoadedTablePtr& before) {
  std::string text;
  std::size_t known = 0;
  if (before && before->snapshot_log) {
    const auto& held = before->metadata.snapshot_log;
    if (held.size() <= log.size() && std::equal(held.begin(), held.end(), log.begin())) {
      if (held.size() == log.size()) return before->snapshot_log;
      text.reserve(before->snapshot_log->size() + 128);
      text = *before->snapshot_log;
      known = held.size();
    }
  }
  for (; known < log.size(); ++known) {
    if (!text.empty()) text += ',';
    text += model::write_fragment(log[known]);
  }
  if (text.empty()) return nullptr;
  return std::make_shared<const std::string>(std::move(text));
}

// The snapshot of main is visible also where DuckDB's upkeep moved it to a snapshot that
// was removed before: there the lake's newest content begins then.
bool is_hidden(const model::LakeTable& table, const model::Snapshot& snapshot) {
  if (!table.metadata.out_of_sight.hides(snapshot.snapshot_id)) return false;
  return snapshot.snapshot_id != table.materialized.back().snapshot_id ||
         (table.cleared_at && snapshot.snapshot_id <= *table.cleared_at);
}

// The columns of the newest snapshot.
const model::Schema* newest_schema(const model::LakeTable& table) {
  if (table.materialized.empty()) return nullptr;
  const auto id = table.materialized.back().schema_id;
  return id ? table.metadata.find_schema(*id) : nullptr;
}

// Specs with a transform that does not take the type of its column any more: clients that read the
// specs under the columns of now refuse the whole table for one. The newest snapshot needs none, of
// those before it some do.
std::vector<const model::PartitionSpec*> outgrown_specs(const model::LakeTable& table,
                                                        const model::Schema& newest) {
  const model::TableMetadata& metadata = table.metadata;
  std::vector<const model::PartitionSpec*> outgrown;
  for (const model::PartitionSpec& spec : metadata.partition_specs) {
    const bool is_shown =
        materialize::fits(spec, metadata.current_schema()) || materialize::fits(spec, newest);
    if (!is_shown) outgrown.push_back(&spec);
  }
  return outgrown;
}

// What no reader can be shown of the time before a column of a partition became of another type.
struct Left {
  std::vector<const model::PartitionSpec*> specs;  ///< Outgrown.
  /// Under their columns a manifest may be of an outgrown spec, or hold values that are none under
  /// the columns of now, by which clients read them.
  std::set<std::int32_t> schemas;

  [[nodiscard]] bool has(const model::Snapshot& snapshot) const {
    return snapshot.schema_id ? schemas.contains(*snapshot.schema_id) : !specs.empty();
  }
};

Left what_is_left(const model::LakeTable& table) {
  const model::Schema* newest = newest_schema(table);
  if (newest == nullptr) return {};
  const model::TableMetadata& metadata = table.metadata;
  Left left{.specs = outgrown_specs(table, *newest), .schemas = {}};
  for (const model::Schema& schema : metadata.schemas) {
    const bool may_need =
        std::ranges::any_of(left.specs,
                            [&](const auto* spec) { return materialize::fits(*spec, schema); }) ||
        std::ranges::any_of(metadata.partition_specs, [&](const auto& spec) {
          return !materialize::keeps_values(spec, schema, *newest);
        });
    if (may_need) left.schemas.insert(schema.schema_id);
  }
  return left;
}

// The log begins anew behind a snapshot that was removed, as Iceberg wants it.
void add_snapshots(const model::LakeTable& table, model::TableMetadata& metadata) {
  metadata.snapshots.reserve(table.materialized.size());
  metadata.snapshot_log.reserve(table.materialized.size());
  const Left left = what_is_left(table);
  for (const model::PartitionSpec* spec : left.specs) {
    metadata.out_of_sight.specs.emplace(spec->spec_id, table.version.revision);
  }
  for (const model::SnapshotPtr& item : table.materialized.items()) {
    const model::Snapshot& snapshot = *item;
    metadata.last_sequence_number =
        std::max(metadata.last_sequence_number, snapshot.sequence_number);
    metadata.last_updated_ms = std::max(metadata.last_updated_ms, snapshot.timestamp_ms);
    if (is_hidden(table, snapshot) || left.has(snapshot)) {
      metadata.snapshot_log.clear();
      continue;
    }
    metadata.snapshots.push_back(item);
    metadata.snapshot_log.push_back({snapshot.timestamp_ms, snapshot.snapshot_id});
  }
}

// "main" is the newest snapshot; only its retention is a client's to say.
void set_refs(const model::LakeTable& table, model::TableMetadata& metadata) {
  const std::string main(model::kMainBranch);
  const auto newest = metadata.snapshots.empty()
                          ? std::nullopt
                          : std::optional(metadata.snapshots.back().snapshot_id);
  if (newest && (!table.cleared_at || *newest > *table.cleared_at)) {
    metadata.current_snapshot_id = newest;
    metadata.refs[main].snapshot_id = *newest;
  } else {
    metadata.refs.erase(main);
  }
}

// DuckDB may have come back to the columns of a schema that was removed.
void show_used_schemas(model::TableMetadata& metadata) {
  auto& hidden = metadata.out_of_sight.schemas;
  if (hidden.empty()) return;
  hidden.erase(metadata.current_schema_id);
  for (const model::Snapshot& snapshot : metadata.snapshots) {
    if (snapshot.schema_id) hidden.erase(*snapshot.schema_id);
  }
}

// The log loses entries at its front and gains some at its end, so what is left of the one
// before stands together.
std::vector<model::JsonText> metadata_log_of(const std::vector<model::MetadataLogEntry>& log,
                                             const LoadedTablePtr& before) {
  std::vector<model::JsonText> texts;
  texts.reserve(log.size());
  std::size_t held = 0;
  if (before && !log.empty()) {
    const auto& known = before->metadata.metadata_log;
    held = static_cast<std::size_t>(std::ranges::find(known, log.front()) - known.begin());
    for (; held < known.size() && texts.size() < log.size(); ++held) {
      if (known[held] != log[texts.size()]) break;
      texts.push_back(before->metadata_log[held]);
    }
  }
  for (std::size_t i = texts.size(); i < log.size(); ++i) {
    texts.push_back(std::make_shared<const std::string>(model::write_fragment(log[i])));
  }
  return texts;
}

struct Document {
  std::string text;
  std::string sha256;
  std::string location;
  std::int64_t sequence = 0;
};

// `log` holds every file written so far; the document lists the newest.
Document write_document(model::TableMetadata& metadata, model::MetadataFragments& fragments,
                        std::vector<model::MetadataLogEntry> log, const LoadedTablePtr& before,
                        std::int64_t sequence) {
  auto length = static_cast<std::ptrdiff_t>(metadata_log_length(metadata));
  if (std::ssize(log) > length) log.erase(log.begin(), log.end() - length);
  fragments.metadata_log = metadata_log_of(log, before);
  metadata.metadata_log = std::move(log);
  Document document;
  document.text = model::write_metadata(metadata, fragments);
  document.sha256 = materialize::content_sha256(document.text);
  document.location =
      fmt::format("{}{:05}-{}.metadata.json", model::server_folder(metadata.location), sequence,
                  materialize::hash_in_name(document.sha256));
  document.sequence = sequence;
  return document;
}

// After a restart the newest file of the log may be this very state's.
Document find_document(const model::LakeTable& table, const LoadedTablePtr& before,
                       model::TableMetadata& metadata, model::MetadataFragments& fragments) {
  std::vector<model::MetadataLogEntry> log = table.metadata.metadata_log;
  bool newest_is_older = before && !log.empty() &&
                         log.back().metadata_file == before->metadata_location &&
                         before->fragments.size() != fragments.snapshots.size();
  if (!log.empty() && !newest_is_older) {
    model::MetadataLogEntry last = log.back();
    log.pop_back();
    Document same = write_document(metadata, fragments, log, before, table.metadata_sequence);
    if (same.location == last.metadata_file) return same;
    log.push_back(std::move(last));
  }
  return write_document(metadata, fragments, std::move(log), before, table.metadata_sequence + 1);
}

// Joined by hand: the document is large and written already.
std::string before_document(const std::string& location) {
  std::string head = R"({"metadata-location":)";
  base::json::append_quoted(head, location);
  return head + R"(,"metadata":)";
}

model::JsonText body_of(std::string_view head, std::string_view document) {
  std::string body;
  body.reserve(head.size() + document.size());
  body.append(head).append(document);
  return std::make_shared<const std::string>(std::move(body));
}

model::MetadataFragments fragments_of(const LoadedTable& loaded, const LoadedTablePtr& before) {
  model::MetadataFragments fragments;
  const auto& snapshots = loaded.metadata.snapshots.items();
  fragments.snapshots.reserve(snapshots.size());
  for (std::size_t i = 0; i < snapshots.size(); ++i) {
    fragments.snapshots.push_back(
        {snapshots[i]->snapshot_id, fragment_of(snapshots[i], before, i)});
  }
  if (loaded.snapshot_log) fragments.snapshot_log.push_back(loaded.snapshot_log);
  return fragments;
}

}  // namespace

ClientConfig::ClientConfig(std::string_view config, std::string_view storage_credentials)
    : holds_keys(!storage_credentials.empty()),
      text(std::make_shared<const std::string>(
          holds_keys ? fmt::format(R"(,"config":{},"storage-credentials":{}}})", config,
                                   storage_credentials)
                     : fmt::format(R"(,"config":{}}})", config))),
      packed(*text),
      tag(materialize::content_hash(*text).substr(0, 8)) {}

base::Result<PackedText> pack_body(const LoadedTable& loaded, model::SnapshotSelection snapshots) {
  ASSIGN_OR_RETURN(auto begun, base::gzip::pack(*loaded.body_of(snapshots)));
  return std::make_shared<const base::gzip::OpenMember>(std::move(begun));
}

std::size_t bytes_of(const LoadedTable& loaded) {
  constexpr std::size_t kDefinitions = std::size_t{16} << 10;  // Schemas, specs, properties.
  constexpr std::size_t kSnapshot = 1024;  // With its summary, and its pointers.
  constexpr std::size_t kAlias = 64;
  std::size_t bytes = kDefinitions + loaded.body->size() + loaded.body_refs->size();
  for (const auto& fragment : loaded.fragments) bytes += kSnapshot + fragment.text->size();
  if (loaded.snapshot_log) bytes += loaded.snapshot_log->size();
  for (const PackedBody* packed : {&loaded.packed->all, &loaded.packed->refs}) {
    if (auto held = packed->get()) bytes += held->bytes.size();
  }
  return bytes + loaded.table.aliases.size() * kAlias;
}

void drop_dangling(model::TableMetadata& metadata) {
  std::erase_if(metadata.refs, [&](const auto& ref) {
    return metadata.find_snapshot(ref.second.snapshot_id) == nullptr;
  });
  auto is_dangling = [&](const base::json::Value& file) {
    const auto snapshot = model::statistics_snapshot(file);
    return !snapshot || metadata.find_snapshot(*snapshot) == nullptr;
  };
  std::erase_if(metadata.statistics, is_dangling);
  std::erase_if(metadata.partition_statistics, is_dangling);
}

std::shared_ptr<LoadedTable> make_loaded_table(model::LakeTable table,
                                               const LoadedTablePtr& before) {
  auto loaded = std::make_shared<LoadedTable>();
  loaded->metadata = table.metadata;
  add_snapshots(table, loaded->metadata);
  set_refs(table, loaded->metadata);
  drop_dangling(loaded->metadata);
  show_used_schemas(loaded->metadata);
  loaded->snapshot_log = snapshot_log_of(loaded->metadata.snapshot_log, before);
  model::MetadataFragments fragments = fragments_of(*loaded, before);
  Document document = find_document(table, before, loaded->metadata, fragments);
  loaded->metadata_location = std::move(document.location);
  loaded->metadata_sequence = document.sequence;
  std::string head = before_document(loaded->metadata_location);
  loaded->document_begin = head.size();
  loaded->document_sha256 = std::move(document.sha256);
  loaded->body = body_of(head, document.text);
  loaded->body_refs = body_of(
      head, model::write_metadata(loaded->metadata, fragments, model::SnapshotSelection::kRefs));
  loaded->fragments = std::move(fragments.snapshots);
  loaded->metadata_log = std::move(fragments.metadata_log);
  loaded->etag = materialize::content_hash(loaded->metadata_location);
  loaded->table = std::move(table);
  return loaded;
}

std::shared_ptr<LoadedTable> told_with(const LoadedTable& loaded, model::TableMetadata told,
                                       std::string_view tag) {
  auto other = std::make_shared<LoadedTable>(loaded);
  other->metadata = std::move(told);
  model::MetadataFragments fragments{
      .snapshots = loaded.fragments, .snapshot_log = {}, .metadata_log = loaded.metadata_log};
  if (loaded.snapshot_log) fragments.snapshot_log.push_back(loaded.snapshot_log);
  const std::string head = before_document(loaded.metadata_location);
  const std::string document = model::write_metadata(other->metadata, fragments);
  other->document_sha256 = materialize::content_sha256(document);
  other->body = body_of(head, document);
  other->body_refs = body_of(
      head, model::write_metadata(other->metadata, fragments, model::SnapshotSelection::kRefs));
  other->packed = std::make_shared<PackedBodies>();
  other->pending_record = nullptr;
  other->etag = materialize::content_hash(fmt::format("{} {}", loaded.etag, tag));
  return other;
}

std::string staged_body(const model::TableMetadata& metadata) {
  return R"({"metadata":)" + model::write_metadata(metadata);
}

}  // namespace lake::publish
