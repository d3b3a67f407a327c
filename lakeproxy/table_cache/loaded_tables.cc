#include "lakeproxy/table_cache/loaded_tables.h"

#include <utility>

namespace lake::publish {
namespace {

// Commits of others overtake the publication of a busy table, many times in a row. Giving up would
// leave a client without the answer to a commit that was made; its deadline ends the tries as well.
constexpr int kAttempts = 100;
// As many entries of the metadata log as a reading gives.
constexpr std::size_t kLogRead = 101;

std::string key_of(const std::string& lake, const model::TableIdentifier& identifier) {
  std::string key = lake + '\x1f';
  for (const auto& level : identifier.name_space.levels) key += level + '\x1f';
  return key + '\x1f' + identifier.name;
}

base::Error always_overtaken() {
  return base::fail(base::ErrorKind::kUnavailable,
                    "Other servers keep changing the table; try again.");
}

bool is_recorded(const LoadedTable& loaded) {
  return !loaded.pending_record || loaded.pending_record->is_recorded();
}
// The lease of those who pack a table's answers, beside those who read the table.
std::string packing_key(const std::string& key) { return key + "\x1f/gzip"; }

// What is packed on the event loop: about a millisecond of work.
constexpr std::size_t kSmallBody = std::size_t{128} << 10;

base::Task<base::Result<PackedText>> pack(base::BlockingPool* pool, LoadedTablePtr loaded,
                                          model::SnapshotSelection snapshots) {
  if (loaded->body_of(snapshots)->size() <= kSmallBody) co_return pack_body(*loaded, snapshots);
  auto work = [loaded, snapshots] { return pack_body(*loaded, snapshots); };
  co_return co_await pool->run(std::move(work));
}

}  // namespace

bool has_failed(const LoadedTable& loaded) {
  return loaded.pending_record && loaded.pending_record->has_failed();
}

TableCache::TableCache(CacheLimits limits, base::metrics::Registry& metrics)
    : entries(limits),
      hits(metrics.counter("lakeproxy_metadata_cache_hits_total",
                           "Table loads answered from the metadata cache.")),
      misses(metrics.counter("lakeproxy_metadata_cache_misses_total",
                             "Table loads that read the lake.")),
      packed(metrics.counter("lakeproxy_metadata_packed_total",
                             "Answers of table states made into gzip, each once.")) {
  entries.show_on(
      metrics.gauge("lakeproxy_metadata_cache_entries", "Tables in the metadata cache."),
      metrics.gauge("lakeproxy_metadata_cache_bytes",
                    "Memory of the tables in the metadata cache, estimated."));
}

LakeTableCache::LakeTableCache(TableCache& cache)
    : cache(&cache), key(std::to_string(++cache.lakes)) {}

LoadedTables::LoadedTables(ducklake::LakeReader& reader, Publisher& publisher,
                           LakeTableCache& shared)
    : reader_(&reader),
      publisher_(&publisher),
      shared_(&shared),
      poller_(reader, shared.invalidation) {}

LoadedTables::~LoadedTables() = default;

base::Task<base::Result<LoadedTablePtr>> LoadedTables::get(base::RequestContext context,
                                                           model::TableIdentifier identifier) {
  CO_RETURN_IF_ERROR(co_await poller_.refresh(context));
  std::string key = key_of(shared_->key, identifier);
  if (auto found = shared_->cache->entries.get(key)) {
    const CacheEntryPtr& entry = *found;
    if (!has_changed(*entry) && !has_failed(*entry->loaded)) {
      shared_->cache->hits.add();
      co_return entry->loaded;
    }
  }
  shared_->cache->misses.add();
  co_return co_await read_in_turn(context, std::move(key), std::move(identifier));
}

bool LoadedTables::has_changed(const CacheEntry& entry) const {
  const model::LakeTable& table = entry.loaded->table;
  return shared_->invalidation.changed_since(table.table_id, table.version, entry.generation);
}

CacheEntryPtr LoadedTables::newest_known(const model::TableIdentifier& identifier) const {
  return shared_->cache->entries.get(key_of(shared_->key, identifier)).value_or(nullptr);
}

base::Task<base::Result<LoadedTablePtr>> LoadedTables::remembered(
    model::TableIdentifier identifier) {
  CacheEntryPtr entry = newest_known(identifier);
  if (!entry) co_return LoadedTablePtr();
  auto recorded = co_await record(identifier, entry, RecordTime::kNow);
  if (recorded) co_return entry->loaded;
  if (recorded.error().reason() == ducklake::kStale) co_return LoadedTablePtr();
  co_return std::move(recorded).error();
}

base::Task<base::Result<LoadedTablePtr>> LoadedTables::get_recorded(
    base::RequestContext context, model::TableIdentifier identifier) {
  for (int i = 0; i < kAttempts; ++i) {
    CO_ASSIGN_OR_RETURN(auto loaded, co_await get(context, identifier));
    if (has_failed(*loaded)) {
      co_return base::fail(base::ErrorKind::kUnavailable,
                           "What was published of the table cannot be recorded; try again.");
    }
    auto entry = std::make_shared<CacheEntry>();
    entry->loaded = loaded;
    auto recorded = co_await record(identifier, std::move(entry), RecordTime::kNow);
    if (recorded) co_return loaded;
    if (recorded.error().reason() != ducklake::kStale) co_return std::move(recorded).error();
  }
  co_return always_overtaken();
}

// An entry that shows `wanted`, of those that others have made since the caller
// began to wait.
CacheEntryPtr LoadedTables::made_meanwhile(const std::string& key, const SingleFlight::Lease& lease,
                                           const TableInvalidation::State& wanted) const {
  auto shows = [&](const CacheEntryPtr& entry) {
    return entry &&
           shared_->invalidation.shows(entry->loaded->table.version, entry->generation, wanted);
  };
  if (auto result = lease.result(); shows(result)) return result;
  auto cached = shared_->cache->entries.get(key).value_or(nullptr);
  return shows(cached) ? cached : nullptr;
}

base::Task<base::Result<CacheEntryPtr>> LoadedTables::publish_known(
    base::RequestContext context, model::TableIdentifier identifier, LoadedTablePtr before,
    ducklake::ChangedTable changed) {
  const std::string key = key_of(shared_->key, identifier);
  const TableInvalidation::Generation generation = shared_->invalidation.state().generation;
  CO_ASSIGN_OR_RETURN(auto lease, co_await shared_->single_flight.take(context, key));
  if (auto made = made_meanwhile(key, lease, {changed.version, generation})) co_return made;
  if (has_failed(*before)) {
    CO_ASSIGN_OR_RETURN(auto read_anew, co_await read(context, key, identifier));
    lease.set_result(read_anew);
    co_return read_anew;
  }
  auto fresh = std::make_shared<CacheEntry>();
  fresh->generation = generation;
  model::LakeTable& table = changed.known->table;
  // The metadata file of `before` is in the log by now, or will be with the new file.
  if (before->metadata_sequence > table.metadata_sequence) {
    table.metadata_sequence = before->metadata_sequence;
    table.metadata.metadata_log.push_back(
        {before->metadata.last_updated_ms, before->metadata_location});
    auto& log = table.metadata.metadata_log;
    if (log.size() > kLogRead) log.erase(log.begin());
  }
  CO_ASSIGN_OR_RETURN(fresh->loaded,
                      co_await publisher_->publish_committed(
                          context, std::move(table), std::move(changed.known->changes), before));
  note_commit(changed, fresh->loaded->table.table_id);
  keep(key, fresh);
  lease.set_result(fresh);
  co_return CacheEntryPtr(fresh);
}

base::Task<base::Result<CacheEntryPtr>> LoadedTables::publish_created(
    base::RequestContext context, model::TableIdentifier identifier,
    ducklake::CreatedTable created) {
  // Nobody has asked the policies about it yet.
  shared_->invalidation.note_policies(created.head.policies);
  const std::string key = key_of(shared_->key, identifier);
  auto fresh = std::make_shared<CacheEntry>();
  fresh->generation = shared_->invalidation.state().generation;
  CO_ASSIGN_OR_RETURN(auto lease, co_await shared_->single_flight.take(context, key));
  if (auto made = made_meanwhile(key, lease, {created.version, fresh->generation})) co_return made;
  CO_ASSIGN_OR_RETURN(auto table, co_await reader_->load_table(context, created.id, nullptr));
  auto published =
      co_await publisher_->publish_committed(context, std::move(table), std::nullopt, nullptr);
  if (!published && published.error().reason() == ducklake::kStale) {
    co_return co_await read(context, key, identifier);
  }
  if (!published) co_return std::move(published).error();
  fresh->loaded = std::move(*published);
  note_commit(created, created.id);
  if (!fresh->loaded->table.waits_for_copies) keep(key, fresh);
  lease.set_result(fresh);
  co_return CacheEntryPtr(fresh);
}

void LoadedTables::note_commit(const ducklake::Committed& committed, model::TableId table) {
  shared_->invalidation.note_policies(committed.head.policies);
  shared_->invalidation.note_commit(committed.head.version(), committed.version, table);
}

base::Task<base::Status> LoadedTables::record(model::TableIdentifier identifier,
                                              CacheEntryPtr entry, RecordTime time) {
  auto recorded = co_await publisher_->record(entry->loaded, time);
  if (!recorded) forget(key_of(shared_->key, identifier), entry);
  co_return recorded;
}

void LoadedTables::forget(const std::string& key, const CacheEntryPtr& entry) {
  auto now = shared_->cache->entries.get(key);
  if (now && (*now)->loaded == entry->loaded) shared_->cache->entries.erase(key);
}

base::Task<base::Result<PackedText>> LoadedTables::packed(base::RequestContext context,
                                                          model::TableIdentifier identifier,
                                                          LoadedTablePtr loaded,
                                                          model::SnapshotSelection snapshots) {
  PackedBody& place = loaded->packed_of(snapshots);
  if (auto made = place.get()) co_return made;
  const std::string key = key_of(shared_->key, identifier);
  CO_ASSIGN_OR_RETURN(auto lease, co_await shared_->single_flight.take(context, packing_key(key)));
  if (auto made = place.get()) co_return made;
  CO_ASSIGN_OR_RETURN(auto bytes, co_await pack(&shared_->cache->packing, loaded, snapshots));
  place.set(bytes);
  shared_->cache->packed.add();
  auto entry = shared_->cache->entries.get(key);
  if (entry && (*entry)->loaded == loaded) {
    shared_->cache->entries.reweigh(key, *entry, bytes_of(*loaded));
  }
  co_return bytes;
}

// A slower worker must not put an older entry in the place of a newer one.
void LoadedTables::keep(const std::string& key, CacheEntryPtr fresh) {
  if (auto found = shared_->cache->entries.get(key)) {
    const model::LakeTable& cached = (*found)->loaded->table;
    const model::LakeTable& table = fresh->loaded->table;
    if (cached.table_id == table.table_id && cached.version.snapshot > table.version.snapshot &&
        (*found)->generation >= fresh->generation) {
      return;
    }
  }
  const std::size_t bytes = bytes_of(*fresh->loaded);
  shared_->cache->entries.put(key, std::move(fresh), bytes);
}

// What was published is recorded before the table is read: two who take the same number in the
// metadata log would meet. What cannot be recorded is forgotten, and made anew.
base::Task<base::Result<LoadedTablePtr>> LoadedTables::read_in_turn(
    base::RequestContext context, std::string key, model::TableIdentifier identifier) {
  const TableInvalidation::State wanted = shared_->invalidation.state();
  CO_ASSIGN_OR_RETURN(auto lease, co_await shared_->single_flight.take(context, key));
  CacheEntryPtr last = made_meanwhile(key, lease, wanted);
  bool is_new_enough = last != nullptr;
  if (!last) {
    last = shared_->cache->entries.get(key).value_or(nullptr);
    is_new_enough = last && !has_changed(*last);
  }
  if (last) {
    if (is_new_enough && !has_failed(*last->loaded)) co_return last->loaded;
    (void)co_await record(identifier, last, RecordTime::kNow);
  }
  CO_ASSIGN_OR_RETURN(auto fresh, co_await read(context, std::move(key), std::move(identifier)));
  lease.set_result(fresh);
  co_return fresh->loaded;
}

base::Task<base::Result<CacheEntryPtr>> LoadedTables::read(base::RequestContext context,
                                                           std::string key,
                                                           model::TableIdentifier identifier) {
  LoadedTablePtr before;
  auto entry = shared_->cache->entries.get(key);
  if (entry && !shared_->invalidation.lost_commits_since((*entry)->generation) &&
      is_recorded(*(*entry)->loaded)) {
    before = (*entry)->loaded;
  }
  for (int i = 0; i < kAttempts; ++i) {
    auto fresh = std::make_shared<CacheEntry>();
    fresh->generation = shared_->invalidation.state().generation;
    auto loaded = co_await read_once(context, identifier, before);
    if (loaded) {
      fresh->loaded = std::move(*loaded);
      // One that waits for copies shows more as soon as they are there.
      const bool waits = fresh->loaded->table.waits_for_copies.has_value();
      if (is_recorded(*fresh->loaded) && !waits) keep(key, fresh);
      co_return fresh;
    }
    if (loaded.error().reason() != ducklake::kStale) {
      if (loaded.error().kind() == base::ErrorKind::kNotFound) shared_->cache->entries.erase(key);
      co_return std::move(loaded).error();
    }
  }
  co_return always_overtaken();
}

base::Task<base::Result<LoadedTablePtr>> LoadedTables::read_once(base::RequestContext context,
                                                                 model::TableIdentifier identifier,
                                                                 LoadedTablePtr before) {
  CO_ASSIGN_OR_RETURN(auto id, co_await reader_->find_table(context, identifier));
  if (before && before->table.table_id != id) before = nullptr;
  std::shared_ptr<const model::LakeTable> known;
  if (before) known = std::shared_ptr<const model::LakeTable>(before, &before->table);
  CO_ASSIGN_OR_RETURN(auto table, co_await reader_->load_table(context, id, known));
  co_return co_await publisher_->publish(context, std::move(table), before);
}

}  // namespace lake::publish
