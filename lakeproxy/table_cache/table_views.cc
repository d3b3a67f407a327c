#include "lakeproxy/table_cache/table_views.h"

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

bool is_recorded(const TableView& view) { return !view.trail || view.trail->is_recorded(); }
bool has_failed(const TableView& view) { return view.trail && view.trail->has_failed(); }

// The turns of those who write a table's metadata file, beside those who read the table.
std::string file_key(const std::string& key) { return key + "\x1f/file"; }
// The turns of those who pack a table's answers.
std::string packing_key(const std::string& key) { return key + "\x1f/gzip"; }

// What is packed on the event loop: about a millisecond of work.
constexpr std::size_t kSmallBody = std::size_t{128} << 10;

base::Task<base::Result<model::JsonText>> pack(base::BlockingPool* pool, TableViewPtr view,
                                               model::SnapshotSelection snapshots) {
  if (view->body_of(snapshots)->size() <= kSmallBody) co_return pack_body(*view, snapshots);
  auto work = [view, snapshots] { return pack_body(*view, snapshots); };
  co_return co_await pool->run(std::move(work));
}

}  // namespace

ViewCache::ViewCache(CacheLimits limits, base::metrics::Registry& metrics)
    : views(limits),
      hits(metrics.counter("lakeproxy_metadata_cache_hits_total",
                           "Table loads answered from the metadata cache.")),
      misses(metrics.counter("lakeproxy_metadata_cache_misses_total",
                             "Table loads that read the lake.")),
      packed(metrics.counter("lakeproxy_metadata_packed_total",
                             "Answers of table states made into gzip, each once.")) {
  views.show_on(metrics.gauge("lakeproxy_metadata_cache_entries", "Tables in the metadata cache."),
                metrics.gauge("lakeproxy_metadata_cache_bytes",
                              "Memory of the tables in the metadata cache, estimated."));
}

SharedViews::SharedViews(ViewCache& cache) : cache(&cache), key(std::to_string(++cache.lakes)) {}

TableViews::TableViews(ducklake::LakeReader& reader, Publisher& publisher, SharedViews& shared)
    : reader_(&reader), publisher_(&publisher), shared_(&shared), watch_(reader, shared.tracker) {}

TableViews::~TableViews() = default;

base::Task<base::Result<TableViewPtr>> TableViews::get(base::RequestContext context,
                                                       model::TableIdentifier identifier) {
  CO_RETURN_IF_ERROR(co_await watch_.refresh(context));
  std::string key = key_of(shared_->key, identifier);
  if (auto found = shared_->cache->views.get(key)) {
    const SharedViews::HeldPtr& held = *found;
    if (!has_changed(*held)) {
      auto settled = co_await settle(context, identifier, held);
      if (settled) {
        shared_->cache->hits.add();
        co_return held->view;
      }
      if (settled.error().reason() != ducklake::kStale) co_return std::move(settled).error();
    }
  }
  shared_->cache->misses.add();
  co_return co_await read_in_turn(context, std::move(key), std::move(identifier));
}

bool TableViews::has_changed(const HeldView& held) const {
  const model::LakeTable& table = held.view->table;
  return shared_->tracker.changed_since(table.table_id, table.version, held.tick);
}

SharedViews::HeldPtr TableViews::newest_known(const model::TableIdentifier& identifier) const {
  return shared_->cache->views.get(key_of(shared_->key, identifier)).value_or(nullptr);
}

base::Task<base::Result<TableViewPtr>> TableViews::remembered(base::RequestContext context,
                                                              model::TableIdentifier identifier) {
  SharedViews::HeldPtr held = newest_known(identifier);
  if (!held) co_return TableViewPtr();
  auto recorded = co_await record(context, identifier, held, RecordTime::kNow);
  if (recorded) co_return held->view;
  if (recorded.error().reason() == ducklake::kStale) co_return TableViewPtr();
  co_return std::move(recorded).error();
}

base::Task<base::Result<TableViewPtr>> TableViews::get_recorded(base::RequestContext context,
                                                                model::TableIdentifier identifier) {
  for (int i = 0; i < kAttempts; ++i) {
    CO_ASSIGN_OR_RETURN(auto view, co_await get(context, identifier));
    if (has_failed(*view)) {
      co_return base::fail(base::ErrorKind::kUnavailable,
                           "What was published of the table cannot be recorded; try again.");
    }
    auto held = std::make_shared<SharedViews::Held>();
    held->view = view;
    auto recorded = co_await record(context, identifier, std::move(held), RecordTime::kNow);
    if (recorded) co_return view;
    if (recorded.error().reason() != ducklake::kStale) co_return std::move(recorded).error();
  }
  co_return always_overtaken();
}

// A view that shows `wanted`, of those that others have made since the caller
// began to wait.
SharedViews::HeldPtr TableViews::made_meanwhile(const std::string& key, const Turns::Turn& turn,
                                                const ChangeTracker::State& wanted) const {
  auto shows = [&](const SharedViews::HeldPtr& held) {
    return held && shared_->tracker.shows(held->view->table.version, held->tick, wanted);
  };
  if (auto left = turn.found(); shows(left)) return left;
  auto cached = shared_->cache->views.get(key).value_or(nullptr);
  return shows(cached) ? cached : nullptr;
}

base::Task<base::Result<SharedViews::HeldPtr>> TableViews::publish_appended(
    base::RequestContext context, model::TableIdentifier identifier, TableViewPtr before,
    ducklake::ChangedTable changed) {
  const std::string key = key_of(shared_->key, identifier);
  const ChangeTracker::Tick tick = shared_->tracker.state().tick;
  CO_ASSIGN_OR_RETURN(auto turn, co_await shared_->turns.take(context, key));
  if (auto made = made_meanwhile(key, turn, {changed.version, tick})) co_return made;
  if (has_failed(*before)) {
    CO_ASSIGN_OR_RETURN(auto read_anew, co_await read(context, key, identifier));
    turn.leave(read_anew);
    co_return read_anew;
  }
  auto fresh = std::make_shared<SharedViews::Held>();
  fresh->tick = tick;
  model::LakeTable& table = changed.appended->table;
  // What the view before has put is in the log by now, or will be with this view's file.
  if (before->metadata_sequence > table.metadata_sequence) {
    table.metadata_sequence = before->metadata_sequence;
    table.metadata.metadata_log.push_back(
        {before->metadata.last_updated_ms, before->metadata_location});
    auto& log = table.metadata.metadata_log;
    if (log.size() > kLogRead) log.erase(log.begin());
  }
  CO_ASSIGN_OR_RETURN(fresh->view,
                      co_await publisher_->publish_known(
                          context, std::move(table), std::move(changed.appended->changes), before));
  shared_->tracker.note_commit(changed.head.version(), changed.version,
                               fresh->view->table.table_id);
  keep(key, fresh);
  turn.leave(fresh);
  co_return SharedViews::HeldPtr(fresh);
}

base::Task<base::Status> TableViews::settle(base::RequestContext context,
                                            model::TableIdentifier identifier,
                                            SharedViews::HeldPtr held) {
  const TableViewPtr& view = held->view;
  if (view->trail == nullptr || view->trail->is_put()) co_return base::Status{};
  const std::string key = key_of(shared_->key, identifier);
  CO_ASSIGN_OR_RETURN(auto turn, co_await shared_->turns.take(context, file_key(key)));
  auto finished = co_await publisher_->finish(context, view);
  if (!finished && finished.error().reason() == ducklake::kStale) forget(key, held);
  co_return finished;
}

base::Task<base::Status> TableViews::record(base::RequestContext context,
                                            model::TableIdentifier identifier,
                                            SharedViews::HeldPtr held, RecordTime time) {
  CO_RETURN_IF_ERROR(co_await settle(context, identifier, held));
  auto recorded = co_await publisher_->record(held->view, time);
  if (!recorded) forget(key_of(shared_->key, identifier), held);
  co_return recorded;
}

void TableViews::forget(const std::string& key, const SharedViews::HeldPtr& held) {
  auto now = shared_->cache->views.get(key);
  if (now && (*now)->view == held->view) shared_->cache->views.erase(key);
}

base::Task<base::Result<model::JsonText>> TableViews::packed(base::RequestContext context,
                                                             model::TableIdentifier identifier,
                                                             TableViewPtr view,
                                                             model::SnapshotSelection snapshots) {
  PackedBody& place = view->packed_of(snapshots);
  if (auto made = place.get()) co_return made;
  const std::string key = key_of(shared_->key, identifier);
  CO_ASSIGN_OR_RETURN(auto turn, co_await shared_->turns.take(context, packing_key(key)));
  if (auto made = place.get()) co_return made;
  CO_ASSIGN_OR_RETURN(auto bytes, co_await pack(&shared_->cache->packing, view, snapshots));
  place.set(bytes);
  shared_->cache->packed.add();
  auto held = shared_->cache->views.get(key);
  if (held && (*held)->view == view) shared_->cache->views.reweigh(key, *held, bytes_of(*view));
  co_return bytes;
}

// A slower worker must not put an older view in the place of a newer one.
void TableViews::keep(const std::string& key, SharedViews::HeldPtr fresh) {
  if (auto found = shared_->cache->views.get(key)) {
    const model::LakeTable& held = (*found)->view->table;
    const model::LakeTable& table = fresh->view->table;
    if (held.table_id == table.table_id && held.version.snapshot > table.version.snapshot &&
        (*found)->tick >= fresh->tick) {
      return;
    }
  }
  const std::size_t bytes = bytes_of(*fresh->view);
  shared_->cache->views.put(key, std::move(fresh), bytes);
}

// What is not finished is finished before anything is told of it, and recorded before the table
// is read: two who take the same number in the metadata log would meet. What cannot be recorded
// is forgotten, and made anew.
base::Task<base::Result<TableViewPtr>> TableViews::read_in_turn(base::RequestContext context,
                                                                std::string key,
                                                                model::TableIdentifier identifier) {
  const ChangeTracker::State wanted = shared_->tracker.state();
  CO_ASSIGN_OR_RETURN(auto turn, co_await shared_->turns.take(context, key));
  SharedViews::HeldPtr last = made_meanwhile(key, turn, wanted);
  bool is_new_enough = last != nullptr;
  if (!last) {
    last = shared_->cache->views.get(key).value_or(nullptr);
    is_new_enough = last && !has_changed(*last);
  }
  if (last) {
    auto settled = co_await settle(context, identifier, last);
    if (settled && is_new_enough) co_return last->view;
    if (!settled && settled.error().reason() != ducklake::kStale) {
      co_return std::move(settled).error();
    }
    (void)co_await record(context, identifier, last, RecordTime::kNow);
  }
  CO_ASSIGN_OR_RETURN(auto fresh, co_await read(context, std::move(key), std::move(identifier)));
  turn.leave(fresh);
  co_return fresh->view;
}

base::Task<base::Result<SharedViews::HeldPtr>> TableViews::read(base::RequestContext context,
                                                                std::string key,
                                                                model::TableIdentifier identifier) {
  TableViewPtr before;
  auto held = shared_->cache->views.get(key);
  if (held && !shared_->tracker.lost_commits_since((*held)->tick) && is_recorded(*(*held)->view)) {
    before = (*held)->view;
  }
  for (int i = 0; i < kAttempts; ++i) {
    auto fresh = std::make_shared<SharedViews::Held>();
    fresh->tick = shared_->tracker.state().tick;
    auto view = co_await read_once(context, identifier, before);
    if (view) {
      fresh->view = std::move(*view);
      if (is_recorded(*fresh->view)) keep(key, fresh);
      co_return fresh;
    }
    if (view.error().reason() != ducklake::kStale) {
      if (view.error().kind() == base::ErrorKind::kNotFound) shared_->cache->views.erase(key);
      co_return std::move(view).error();
    }
  }
  co_return always_overtaken();
}

base::Task<base::Result<TableViewPtr>> TableViews::read_once(base::RequestContext context,
                                                             model::TableIdentifier identifier,
                                                             TableViewPtr before) {
  CO_ASSIGN_OR_RETURN(auto id, co_await reader_->find_table(context, identifier));
  if (before && before->table.table_id != id) before = nullptr;
  std::shared_ptr<const model::LakeTable> known;
  if (before) known = std::shared_ptr<const model::LakeTable>(before, &before->table);
  CO_ASSIGN_OR_RETURN(auto table, co_await reader_->load_table(context, id, known));
  co_return co_await publisher_->publish(context, std::move(table), before);
}

}  // namespace lake::publish
