#include <algorithm>

#include "lakeproxy/ducklake/lake/change_log.h"
#include "lakeproxy/ducklake/read/reader_impl.h"

namespace lake::ducklake {
namespace {

using base::RequestContext;
using base::Result;
using base::Task;
using base::pg::param;
using base::pg::Query;
using base::pg::Rows;
using base::pg::RowsPtr;
using model::LakeVersion;
using model::TableId;

// Beyond this many snapshots it is cheaper to look at every table again.
constexpr std::int64_t kMaxSnapshots = 10'000;
constexpr int kMaxAttempts = 3;

using Changed = std::map<TableId, LakeVersion>;

void note(Changed& tables, TableId table, LakeVersion at) {
  LakeVersion& newest = tables[table];
  newest.snapshot = std::max(newest.snapshot, at.snapshot);
  newest.revision = std::max(newest.revision, at.revision);
}

// Nothing when an entry is not understood, or snapshots are missing.
std::optional<Changed> changed_by(const Rows& changes, std::int64_t snapshots) {
  if (static_cast<std::int64_t>(changes.size()) != snapshots) return std::nullopt;
  Changed tables;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const ChangeLog log = parse_changes(changes.text(i, 1));
    if (log.unknown) return std::nullopt;
    for (TableId table : log.tables()) {
      note(tables, table, {.snapshot = model::SnapshotId(changes.int64(i, 0))});
    }
  }
  return tables;
}

std::optional<Changed> changed_tables(const std::vector<RowsPtr>& rows, LakeVersion since,
                                      LakeVersion now) {
  const bool removed = rows[0]->int64(0, 2) > since.revision;
  if (removed || since.snapshot > now.snapshot || since.revision > now.revision) {
    return std::nullopt;
  }
  auto tables = changed_by(*rows[1], now.snapshot.value - since.snapshot.value);
  if (!tables) return std::nullopt;
  for (std::size_t i = 0; i < rows[2]->size(); ++i) {
    note(*tables, TableId(rows[2]->int64(i, 0)),
         {.snapshot = model::SnapshotId(rows[2]->int64(i, 1))});
  }
  for (std::size_t i = 0; i < rows[3]->size(); ++i) {
    note(*tables, TableId(rows[3]->int64(i, 0)), {.revision = rows[3]->int64(i, 1)});
  }
  return tables;
}

}  // namespace

Result<LakeVersion> read_version(const Rows& rows) {
  ASSIGN_OR_RETURN(const auto format, read_lake_format(rows.text(0, 4)));
  return LakeVersion{.snapshot = model::SnapshotId(rows.int64(0, 0)),
                     .revision = rows.int64(0, 1),
                     .snapshot_ms = rows.int64(0, 3),
                     .format = format};
}

LakeReader::LakeReader(base::pg::Pool& pool, LakeOptions options)
    : impl_(std::make_unique<Impl>(pool, std::move(options))) {}

LakeReader::~LakeReader() = default;

Task<Result<std::vector<RowsPtr>>> LakeReader::Impl::read(RequestContext context,
                                                          std::vector<Query> queries) {
  for (int attempt = 1;; ++attempt) {
    auto rows = co_await pool->read(context, queries);
    if (rows || attempt == kMaxAttempts || rows.error().reason() != base::pg::kUndefinedTable) {
      co_return rows;
    }
  }
}

Task<Result<LakeVersion>> LakeReader::version(RequestContext context) {
  CO_ASSIGN_OR_RETURN(Versions asked, co_await versions(context));
  co_return asked.lake;
}

Task<Result<LakeReader::Versions>> LakeReader::versions(RequestContext context) {
  CO_ASSIGN_OR_RETURN(auto rows, co_await impl_->pool->query(context, {impl_->sql.version, {}}));
  CO_ASSIGN_OR_RETURN(LakeVersion lake, read_version(*rows));
  co_return Versions{.lake = lake, .policies = rows->int64(0, 5)};
}

Task<Result<LakeReader::ChangedTables>> LakeReader::changed_since(RequestContext context,
                                                                  LakeVersion since) {
  const LakeSql& sql = impl_->sql;
  std::vector<Query> queries;
  queries.push_back({sql.version, {}});
  queries.push_back({sql.changes_since, {param(since.snapshot.value), param(kMaxSnapshots + 1)}});
  queries.push_back({sql.tables_defined_since, {param(since.snapshot.value)}});
  queries.push_back({sql.sidecars_since, {param(since.revision)}});
  queries.push_back({sql.same_history, {param(since.snapshot.value), param(since.snapshot_ms)}});
  CO_ASSIGN_OR_RETURN(auto rows, co_await impl_->read(context, std::move(queries)));
  CO_ASSIGN_OR_RETURN(LakeVersion version, read_version(*rows[0]));
  const bool migrated = version.format != since.format;
  if (migrated && version.format >= model::LakeFormat::k1_1) {
    CO_ASSIGN_OR_RETURN(
        auto missing,
        co_await impl_->pool->query(context, find_missing_parts(impl_->options.metadata_schema)));
    CO_RETURN_IF_ERROR(check_parts(*missing));
  }
  // A migration changes rows of old snapshots: nothing that was read before it counts.
  ChangedTables changed{.version = version, .goes_on = !migrated && !rows[4]->empty()};
  if (changed.goes_on && changed.version.snapshot.value - since.snapshot.value <= kMaxSnapshots) {
    changed.tables = changed_tables(rows, since, changed.version);
  }
  co_return changed;
}

}  // namespace lake::ducklake
