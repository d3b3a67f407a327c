#include "lakeproxy/to_iceberg/publish/snapshot_series.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/runtime/gather.h"
#include "lakeproxy/to_iceberg/publish/stale_vectors.h"

namespace lake::publish {
namespace {

// Manifests that are read at once: as many as are merged into one.
constexpr base::AtOnce kReadsAtOnce{32};
// Objects that wait to be put together: enough to keep the store busy, few
// enough to stay small.
constexpr std::size_t kPutsAtOnce = 32;

const model::Snapshot* last_snapshot(const model::LakeTable& table) {
  return table.materialized.empty() ? nullptr : &table.materialized.back();
}

void note_hidden_specs(const model::LakeTable& table,
                       const std::vector<materialize::ListedManifest>& list,
                       std::set<std::int32_t>& needed) {
  const auto& hidden = table.metadata.out_of_sight.specs;
  if (hidden.empty()) return;
  for (const auto& listed : list) {
    const std::int32_t spec = listed.manifest.partition_spec_id;
    if (hidden.contains(spec)) needed.insert(spec);
  }
}

base::Task<base::Result<std::vector<materialize::ListedManifest>>> last_list(
    base::RequestContext context, ManifestStore* manifests, const model::LakeTable* table) {
  std::vector<materialize::ListedManifest> list;
  const model::Snapshot* last = last_snapshot(*table);
  if (last == nullptr) co_return list;
  CO_ASSIGN_OR_RETURN(auto files, co_await manifests->list(context, last->manifest_list));
  for (const auto& file : *files) list.push_back({file, nullptr});
  co_return list;
}

base::Task<base::Status> read_entries(base::RequestContext context, ManifestStore* manifests,
                                      std::vector<materialize::ListedManifest>* list,
                                      std::vector<std::size_t> positions) {
  auto read = [&](std::size_t i) {
    return manifests->entries(context, (*list)[positions[i]].manifest.manifest_path);
  };
  auto keep = [&](std::size_t i, materialize::Entries entries) {
    (*list)[positions[i]].entries = std::move(entries);
    return base::Status{};
  };
  co_return co_await base::gather_few(kReadsAtOnce, positions.size(), read, keep);
}

}  // namespace

base::Task<base::Result<std::vector<materialize::ListedManifest>>> published_files(
    base::RequestContext context, ManifestStore* manifests, const model::LakeTable* table) {
  CO_ASSIGN_OR_RETURN(auto list, co_await last_list(context, manifests, table));
  std::vector<std::size_t> all(list.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  CO_RETURN_IF_ERROR(co_await read_entries(context, manifests, &list, std::move(all)));
  co_return list;
}

base::Task<base::Result<SnapshotSeries>> build_series(
    base::RequestContext context, ManifestStore* manifests, exporter::Exporter* exporter,
    const model::LakeTable* table, std::vector<materialize::SnapshotChange> changes) {
  CO_ASSIGN_OR_RETURN(auto list, co_await last_list(context, manifests, table));
  SnapshotSeries series;
  auto& [snapshots, objects, into_sight] = series;
  const model::Snapshot* parent = last_snapshot(*table);
  StaleVectors vectors(*exporter, *manifests);
  snapshots.reserve(changes.size());
  for (auto& change : changes) {
    // Timestamps grow along the log, whatever the clocks of the writers say.
    if (parent != nullptr) {
      change.timestamp_ms = std::max(change.timestamp_ms, parent->timestamp_ms + 1);
    }
    const materialize::BuildContext build{table, parent, &manifests->headers()};
    CO_RETURN_IF_ERROR(co_await read_entries(context, manifests, &list,
                                             materialize::manifests_to_read(build, list, change)));
    CO_RETURN_IF_ERROR(co_await vectors.move_live(context, table, &list, &change));
    CO_ASSIGN_OR_RETURN(auto built, materialize::build_snapshot(build, std::move(list), change));
    manifests->remember(built);
    std::ranges::move(built.objects, std::back_inserter(objects));
    list = std::move(built.list);
    note_hidden_specs(*table, list, into_sight);
    snapshots.push_back(std::move(built.snapshot));
    parent = &snapshots.back();
    if (objects.size() < kPutsAtOnce) continue;
    CO_RETURN_IF_ERROR(co_await manifests->put(context, std::exchange(objects, {})));
  }
  co_return series;
}

}  // namespace lake::publish
