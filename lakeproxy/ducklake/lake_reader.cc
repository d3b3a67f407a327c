#include <algorithm>

#include "lakeproxy/ducklake/change_log.h"
#include "lakeproxy/ducklake/reader_impl.h"

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

// Nothing when an entry is not understood, or snapshots are missing.
std::optional<std::vector<TableId>> changed_by(const Rows& changes, std::int64_t snapshots) {
  if (static_cast<std::int64_t>(changes.size()) != snapshots) return std::nullopt;
  std::vector<TableId> tables;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const ChangeLog log = parse_changes(changes.text(i, 0));
    if (log.unknown) return std::nullopt;
    std::ranges::copy(log.tables(), std::back_inserter(tables));
  }
  return tables;
}

void add_ids(const Rows& rows, std::vector<TableId>& tables) {
  for (std::size_t i = 0; i < rows.size(); ++i) tables.emplace_back(rows.int64(i, 0));
}

std::optional<std::vector<TableId>> changed_tables(const std::vector<RowsPtr>& rows,
                                                   LakeVersion since, LakeVersion now) {
  const bool removed = rows[0]->int64(0, 2) > since.revision;
  if (removed || since.snapshot > now.snapshot || since.revision > now.revision) {
    return std::nullopt;
  }
  auto tables = changed_by(*rows[1], now.snapshot.value - since.snapshot.value);
  if (!tables) return std::nullopt;
  add_ids(*rows[2], *tables);
  add_ids(*rows[3], *tables);
  std::ranges::sort(*tables);
  tables->erase(std::ranges::unique(*tables).begin(), tables->end());
  return tables;
}

}  // namespace

base::Error no_such_namespace(const model::Namespace& name) {
  return base::fail(base::ErrorKind::kNotFound, "Namespace does not exist: " + name.display())
      .with_reason(kNoSuchNamespace);
}

base::Error no_such_table(std::string_view name) {
  return base::fail(base::ErrorKind::kNotFound, "Table does not exist: " + std::string(name))
      .with_reason(kNoSuchTable);
}

LakeVersion read_version(const Rows& rows) {
  return {.snapshot = model::SnapshotId(rows.int64(0, 0)), .revision = rows.int64(0, 1)};
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
  CO_ASSIGN_OR_RETURN(auto rows, co_await impl_->pool->query(context, {impl_->sql.version, {}}));
  co_return read_version(*rows);
}

Task<Result<LakeReader::ChangedTables>> LakeReader::changed_since(RequestContext context,
                                                                  LakeVersion since) {
  const LakeSql& sql = impl_->sql;
  std::vector<Query> queries;
  queries.push_back({sql.version, {}});
  queries.push_back({sql.changes_since, {param(since.snapshot.value), param(kMaxSnapshots + 1)}});
  queries.push_back({sql.tables_defined_since, {param(since.snapshot.value)}});
  queries.push_back({sql.sidecars_since, {param(since.revision)}});
  CO_ASSIGN_OR_RETURN(auto rows, co_await impl_->read(context, std::move(queries)));
  ChangedTables changed{.version = read_version(*rows[0])};
  if (changed.version.snapshot.value - since.snapshot.value <= kMaxSnapshots) {
    changed.tables = changed_tables(rows, since, changed.version);
  }
  co_return changed;
}

}  // namespace lake::ducklake
