#include "lakeproxy/to_iceberg/publish/publication_records.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/json/json.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/iceberg/metadata/snapshot_json.h"
#include "lakeproxy/mapping/sidecar_rows.h"

namespace lake::ducklake {
namespace {

using base::pg::array_param;
using base::pg::Query;

using All = std::vector<const Published*>;
using Key = std::pair<std::int64_t, std::int64_t>;  // Of a table's row.

struct SnapshotRow {
  std::int64_t format_version = 0;
  std::string text;
  friend bool operator==(const SnapshotRow&, const SnapshotRow&) = default;
};

// The rows of one lake. They are sorted, so that transactions of several event loops and servers
// take their locks in one order.
struct LakeRows {
  std::map<Key, SnapshotRow> snapshots;
  std::map<Key, model::MetadataLogEntry> files;
  std::map<std::int64_t, std::set<std::int32_t>> into_sight;
  std::set<std::int64_t> released;  // Tables whose kept files may be let go of.
};

// What PostgreSQL has, in the end, as it was given.
struct Written {
  std::set<Key> snapshots;
  std::set<Key> files;
  std::set<std::int64_t> into_sight;
};

std::map<std::string, std::vector<std::size_t>> by_lake(const All& published) {
  std::map<std::string, std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < published.size(); ++i) {
    members[published[i]->metadata_schema].push_back(i);
  }
  return members;
}

Query without_waiting_for_the_disk() {
  return {{"SELECT set_config('synchronous_commit', 'off', true)"}, {}};
}

// The places in the list of those that show a commit which a failover has lost.
Query find_lost(const SchemaSql& sql, const All& published,
                const std::vector<std::size_t>& members) {
  std::vector<std::int64_t> places, snapshots, times;
  for (std::size_t i : members) {
    if (!published[i]->read_at) continue;
    places.push_back(static_cast<std::int64_t>(i));
    snapshots.push_back(published[i]->read_at->snapshot.value);
    times.push_back(published[i]->read_at->snapshot_ms);
  }
  return {sql("SELECT place FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS p(place, id, "
              "ms) WHERE NOT EXISTS (SELECT 1 FROM @ducklake_snapshot s WHERE s.snapshot_id = p.id "
              "AND floor(extract(epoch FROM s.snapshot_time) * 1000)::bigint = p.ms)"),
          {array_param(places), array_param(snapshots), array_param(times)}};
}

// Whoever records a table sees what was recorded of it before. All take the locks in the order
// of lakes and tables.
Query lock_tables(const SchemaSql& sql, const std::string& schema, const All& published,
                  const std::vector<std::size_t>& members) {
  std::set<std::int64_t> tables;
  for (std::size_t i : members) tables.insert(published[i]->table.value);
  return {sql("SELECT pg_advisory_xact_lock(hashtextextended('lakeproxy.record.' || $1::text, t)) "
              "FROM unnest($2::bigint[]) AS t"),
          {base::pg::param(schema), array_param(std::vector(tables.begin(), tables.end()))}};
}

// The snapshots that are recorded, with the place in the list of each publication that was made
// without looking at them, or contains them.
Query find_newer(const SchemaSql& sql, const All& published,
                 const std::vector<std::size_t>& members) {
  std::vector<std::int64_t> places, tables, versions, newest;
  for (std::size_t i : members) {
    if (published[i]->snapshots.empty()) continue;
    places.push_back(static_cast<std::int64_t>(i));
    tables.push_back(published[i]->table.value);
    versions.push_back(published[i]->format_version);
    newest.push_back(published[i]->built_on.value_or(model::SnapshotId(-1)).value);
  }
  return {sql("SELECT p.place, m.snapshot_id FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], "
              "$4::bigint[]) AS p(place, t, v, newest) JOIN @lakeproxy_snapshot m ON m.table_id = "
              "p.t AND m.snapshot_id > p.newest AND m.format_version >= p.v WHERE EXISTS (SELECT 1 "
              "FROM @ducklake_snapshot s WHERE s.snapshot_id = m.snapshot_id)"),
          {array_param(places), array_param(tables), array_param(versions), array_param(newest)}};
}

using TableKey = std::pair<std::string_view, std::int64_t>;

TableKey table_of(const Published& one) { return {one.metadata_schema, one.table.value}; }

// A later publication of a table stands on the earlier ones: a snapshot that is remembered
// without those before it would hide them.
void leave_out_what_follows(const All& published, std::vector<bool>& fits) {
  std::set<TableKey> left_out;
  for (std::size_t i = 0; i < published.size(); ++i) {
    const TableKey table = table_of(*published[i]);
    if (!fits[i]) left_out.insert(table);
    if (left_out.contains(table)) fits[i] = false;
  }
}

using Ids = std::set<std::int64_t>;

Ids ids_of(const Published& one) {
  Ids ids;
  for (const model::Snapshot& snapshot : one.snapshots) ids.insert(snapshot.snapshot_id.value);
  return ids;
}

// Two publications of a table either contain one another, or one of them was made without
// looking at the other: then the first stays. `newer` are those of find_newer().
void leave_out_overtaken(const All& published, std::vector<Ids> newer, std::vector<bool>& fits) {
  std::map<TableKey, Ids> taken;
  for (std::size_t i = 0; i < published.size(); ++i) {
    if (!fits[i]) continue;
    const Ids ids = ids_of(*published[i]);
    Ids& of_table = taken[table_of(*published[i])];
    const std::int64_t newest = published[i]->built_on.value_or(model::SnapshotId(-1)).value;
    newer[i].insert(of_table.upper_bound(newest), of_table.end());
    fits[i] = std::ranges::includes(ids, newer[i]) || std::ranges::includes(newer[i], ids);
    of_table.insert(ids.begin(), ids.end());
  }
}

// False where another publication of the list says something else of the same row.
bool add_rows(const Published& one, LakeRows& rows) {
  bool agrees = true;
  for (const model::Snapshot& snapshot : one.snapshots) {
    SnapshotRow row{one.format_version, base::json::write(model::to_json(snapshot))};
    auto [at, is_new] =
        rows.snapshots.try_emplace(Key(one.table.value, snapshot.snapshot_id.value), row);
    agrees = agrees && (is_new || at->second == row);
  }
  if (one.metadata_file) {
    auto [at, is_new] =
        rows.files.try_emplace(Key(one.table.value, one.metadata_sequence), *one.metadata_file);
    agrees = agrees && (is_new || at->second == *one.metadata_file);
  }
  if (!one.into_sight.empty()) {
    rows.into_sight[one.table.value].insert(one.into_sight.begin(), one.into_sight.end());
  }
  if (one.replaces_files) rows.released.insert(one.table.value);
  return agrees;
}

// A row of an older format version is of no use any more: it is replaced. One that says the
// same, by whomever, counts as written.
Query put_snapshots(const SchemaSql& sql, const std::map<Key, SnapshotRow>& rows) {
  std::vector<std::int64_t> tables, ids, versions;
  std::vector<std::optional<std::string>> texts;
  for (const auto& [key, row] : rows) {
    tables.push_back(key.first);
    ids.push_back(key.second);
    versions.push_back(row.format_version);
    texts.emplace_back(row.text);
  }
  return {sql("INSERT INTO @lakeproxy_snapshot AS held (table_id, snapshot_id, format_version, "
              "snapshot_json) SELECT t, id, v, body::jsonb FROM unnest($1::bigint[], "
              "$2::bigint[], $3::bigint[], $4::text[]) AS s(t, id, v, body) ORDER BY t, id ON "
              "CONFLICT (table_id, snapshot_id) DO UPDATE SET format_version = "
              "excluded.format_version, snapshot_json = excluded.snapshot_json WHERE "
              "held.format_version < excluded.format_version OR (held.format_version = "
              "excluded.format_version AND held.snapshot_json = excluded.snapshot_json) RETURNING "
              "table_id, snapshot_id"),
          {array_param(tables), array_param(ids), array_param(versions), array_param(texts)}};
}

Query put_files(const SchemaSql& sql, const std::map<Key, model::MetadataLogEntry>& rows) {
  std::vector<std::int64_t> tables, sequences, times;
  std::vector<std::optional<std::string>> files;
  for (const auto& [key, entry] : rows) {
    tables.push_back(key.first);
    sequences.push_back(key.second);
    times.push_back(entry.timestamp_ms);
    files.emplace_back(entry.metadata_file);
  }
  return {sql("INSERT INTO @lakeproxy_metadata_log AS held (table_id, sequence, timestamp_ms, "
              "metadata_file) SELECT t, s, ms, file FROM unnest($1::bigint[], $2::bigint[], "
              "$3::bigint[], $4::text[]) AS f(t, s, ms, file) ORDER BY t, s ON CONFLICT "
              "(table_id, sequence) DO UPDATE SET metadata_file = excluded.metadata_file WHERE "
              "held.metadata_file = excluded.metadata_file RETURNING table_id, sequence"),
          {array_param(tables), array_param(sequences), array_param(times), array_param(files)}};
}

// What no visible snapshot names any more, now that one without it is recorded.
Query release_files(const SchemaSql& sql, const std::set<std::int64_t>& tables) {
  return {sql("SELECT @lakeproxy_release_files(t) FROM unnest($1::bigint[]) AS t"),
          {array_param(std::vector(tables.begin(), tables.end()))}};
}

void put_rows(const SchemaSql& sql, const LakeRows& rows, std::vector<Query>& queries) {
  if (!rows.snapshots.empty()) queries.push_back(put_snapshots(sql, rows.snapshots));
  for (const auto& [table, specs] : rows.into_sight) {
    queries.push_back(put_into_sight(sql, table, specs));
  }
  if (!rows.files.empty()) queries.push_back(put_files(sql, rows.files));
  if (!rows.released.empty()) queries.push_back(release_files(sql, rows.released));
}

std::set<Key> keys_of(const base::pg::Rows& rows) {
  std::set<Key> keys;
  for (std::size_t i = 0; i < rows.size(); ++i) keys.emplace(rows.int64(i, 0), rows.int64(i, 1));
  return keys;
}

using Answers = std::vector<base::pg::RowsPtr>;

// In the order of put_rows().
Written read_written(const LakeRows& rows, Answers::const_iterator& answer) {
  Written written;
  if (!rows.snapshots.empty()) written.snapshots = keys_of(**answer++);
  for (const auto& [table, specs] : rows.into_sight) {
    if ((*answer++)->affected() == 1) written.into_sight.insert(table);
  }
  if (!rows.files.empty()) written.files = keys_of(**answer++);
  if (!rows.released.empty()) ++answer;
  return written;
}

std::vector<Query> first_queries(const All& all,
                                 const std::map<std::string, std::vector<std::size_t>>& lakes) {
  std::vector<Query> queries{without_waiting_for_the_disk()};
  for (const auto& [schema, members] : lakes) {
    const SchemaSql sql(schema);
    queries.push_back(lock_tables(sql, schema, all, members));
    queries.push_back(find_lost(sql, all, members));
    queries.push_back(find_newer(sql, all, members));
  }
  return queries;
}

// Which of them may be recorded, by the answers to first_queries().
std::vector<bool> find_fitting(const All& all, const Answers& answers) {
  std::vector<bool> fits(all.size(), true);
  std::vector<Ids> newer(all.size());
  for (std::size_t i = 1; i < answers.size(); i += 3) {
    const base::pg::Rows& lost = *answers[i + 1];
    for (std::size_t r = 0; r < lost.size(); ++r) {
      fits[static_cast<std::size_t>(lost.int64(r, 0))] = false;
    }
    const base::pg::Rows& recorded = *answers[i + 2];
    for (std::size_t r = 0; r < recorded.size(); ++r) {
      newer[static_cast<std::size_t>(recorded.int64(r, 0))].insert(recorded.int64(r, 1));
    }
  }
  leave_out_overtaken(all, std::move(newer), fits);
  leave_out_what_follows(all, fits);
  return fits;
}

bool has_all_of(const Written& written, const Published& one) {
  for (const model::Snapshot& snapshot : one.snapshots) {
    if (!written.snapshots.contains({one.table.value, snapshot.snapshot_id.value})) return false;
  }
  if (one.metadata_file && !written.files.contains({one.table.value, one.metadata_sequence})) {
    return false;
  }
  return one.into_sight.empty() || written.into_sight.contains(one.table.value);
}

}  // namespace

base::Task<base::Result<std::vector<bool>>> record_published(base::RequestContext context,
                                                             base::pg::Pool* pool,
                                                             std::vector<const Published*> all) {
  const auto lakes = by_lake(all);
  CO_ASSIGN_OR_RETURN(auto begun, co_await pool->begin(context, first_queries(all, lakes)));
  std::vector<bool> fits = find_fitting(all, begun.rows);

  std::map<std::string, LakeRows> rows;
  std::vector<Query> queries;
  for (const auto& [schema, members] : lakes) {
    LakeRows& of_lake = rows[schema];
    for (std::size_t i : members) {
      if (fits[i]) fits[i] = add_rows(*all[i], of_lake);
    }
    put_rows(SchemaSql(schema), of_lake, queries);
  }
  if (queries.empty()) {
    co_await begun.transaction->rollback();
    co_return fits;
  }
  CO_ASSIGN_OR_RETURN(Answers answers,
                      co_await begun.transaction->run_and_commit(std::move(queries)));
  auto answer = answers.cbegin();
  for (const auto& [schema, members] : lakes) {
    const Written written = read_written(rows[schema], answer);
    for (std::size_t i : members) fits[i] = fits[i] && has_all_of(written, *all[i]);
  }
  leave_out_what_follows(all, fits);
  co_return fits;
}

}  // namespace lake::ducklake
