#include "base/json/json.h"
#include "lakeproxy/ducklake/rows/sidecar_rows.h"
#include "lakeproxy/ducklake/write/lake_writer.h"
#include "lakeproxy/model/table/snapshot_json.h"

namespace lake::ducklake {
namespace {

using base::pg::array_param;
using base::pg::param;
using base::pg::Query;

// A row of an older epoch names files that may be gone, and one of an older
// format version is of no use any more: it is replaced. One that says the same,
// by whomever, counts as written.
Query put_snapshots(const SchemaSql& sql, const LakeWriter::Published& published) {
  std::vector<std::int64_t> ids;
  std::vector<std::optional<std::string>> texts;
  for (const model::Snapshot& snapshot : published.snapshots) {
    ids.push_back(snapshot.snapshot_id.value);
    texts.push_back(base::json::write(model::to_json(snapshot)));
  }
  return {
      sql("INSERT INTO @lakeproxy_snapshot AS held (table_id, snapshot_id, epoch, "
          "format_version, snapshot_json) SELECT $1, id, $2, $5, body::jsonb FROM "
          "unnest($3::bigint[], $4::text[]) AS s(id, body) ON CONFLICT (table_id, snapshot_id) DO "
          "UPDATE SET epoch = excluded.epoch, format_version = excluded.format_version, "
          "snapshot_json = excluded.snapshot_json WHERE (held.epoch, held.format_version) < "
          "(excluded.epoch, excluded.format_version) OR ((held.epoch, held.format_version) = "
          "(excluded.epoch, excluded.format_version) AND held.snapshot_json = "
          "excluded.snapshot_json)"),
      {param(published.table.value), param(published.epoch), array_param(ids), array_param(texts),
       param(std::int64_t{published.format_version})}};
}

Query put_metadata_file(const SchemaSql& sql, const LakeWriter::Published& published) {
  return {sql("INSERT INTO @lakeproxy_metadata_log AS held (table_id, sequence, timestamp_ms, "
              "metadata_file) VALUES ($1, $2, $3, $4) ON CONFLICT (table_id, sequence) DO UPDATE "
              "SET metadata_file = excluded.metadata_file WHERE held.metadata_file = "
              "excluded.metadata_file"),
          {param(published.table.value), param(published.metadata_sequence),
           param(published.metadata_file->timestamp_ms),
           param(published.metadata_file->metadata_file)}};
}

Query without_waiting_for_the_disk() {
  return {{"SELECT set_config('synchronous_commit', 'off', true)"}, {}};
}

// A row unless a failover lost the commit that is to be recorded as shown.
Query find_shown(const SchemaSql& sql, const LakeWriter::Published& published) {
  if (!published.read_at) return {{"SELECT 1"}, {}};
  return {sql("SELECT 1 FROM @ducklake_snapshot WHERE snapshot_id = $1 AND "
              "floor(extract(epoch FROM snapshot_time) * 1000)::bigint = $2"),
          {param(published.read_at->snapshot.value), param(published.read_at->snapshot_ms)}};
}

}  // namespace

base::Task<base::Result<bool>> LakeWriter::record_published(base::RequestContext context,
                                                            Published published) {
  std::vector<Query> queries;
  std::int64_t expected = 0;
  if (!published.snapshots.empty()) {
    queries.push_back(put_snapshots(sql_, published));
    expected += static_cast<std::int64_t>(published.snapshots.size());
  }
  if (!published.into_sight.empty()) {
    queries.push_back(put_into_sight(sql_, published.table.value, published.into_sight));
    expected += 1;
  }
  if (published.metadata_file) {
    queries.push_back(put_metadata_file(sql_, published));
    expected += 1;
  }
  if (queries.empty()) co_return true;
  CO_ASSIGN_OR_RETURN(auto begun, co_await pool_->begin(context, {without_waiting_for_the_disk(),
                                                                  find_shown(sql_, published)}));
  if (begun.rows[1]->empty()) {
    co_await begun.transaction->rollback();
    co_return false;
  }
  CO_ASSIGN_OR_RETURN(auto rows, co_await begun.transaction->run_and_commit(std::move(queries)));
  std::int64_t written = 0;
  for (const auto& row : rows) written += row->affected();
  co_return written == expected;
}

base::Task<base::Result<void>> LakeWriter::record_nan_counts(base::RequestContext context,
                                                             std::vector<NanCount> counts) {
  std::vector<std::int64_t> files, columns;
  std::vector<std::optional<std::string>> values;
  for (const NanCount& count : counts) {
    files.push_back(count.file.value);
    columns.push_back(count.column);
    values.push_back(count.count ? std::optional(std::to_string(*count.count)) : std::nullopt);
  }
  CO_RETURN_IF_ERROR(co_await pool_->query(
      context, {sql_("INSERT INTO @lakeproxy_nan_count (data_file_id, column_id, nan_count) SELECT "
                     "f, c, n::bigint FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS "
                     "u(f, c, n) ON CONFLICT DO NOTHING"),
                {array_param(files), array_param(columns), array_param(values)}}));
  co_return base::Result<void>{};
}

}  // namespace lake::ducklake
