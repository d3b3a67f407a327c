#include "lakeproxy/ducklake/commit/idempotency_records.h"

#include "base/core/text.h"

namespace lake::ducklake {
namespace {

using base::pg::bytes_param;
using base::pg::param;
using base::pg::Query;

// The status of a change that was made; no HTTP status is 0.
constexpr std::int64_t kMade = 0;

IdempotencyRecord read_idempotency_record(const base::pg::Rows& rows) {
  IdempotencyRecord record{.request_hash = rows.bytes(0, 0),
                           .answer = std::string(rows.text(0, 2))};
  std::int64_t status = rows.int64(0, 1);
  if (status != kMade) record.refused_status = static_cast<unsigned>(status);
  return record;
}

}  // namespace

Query find_idempotency_record(const SchemaSql& sql, const base::Uuid& key) {
  return {sql("SELECT request_hash, status, response FROM @lakeproxy_idempotency WHERE key = "
              "$1::uuid"),
          {param(base::to_string(key))}};
}

Query put_idempotency_record(const SchemaSql& sql, const model::IdempotencyKey& key,
                             const std::string& answer) {
  return {
      sql("INSERT INTO @lakeproxy_idempotency (key, request_hash, status, response) VALUES "
          "($1::uuid, $2::bytea, $3, $4)"),
      {param(base::to_string(key.id)), bytes_param(key.request_hash), param(kMade), param(answer)}};
}

// A few at a time: a commit must not pay for a day's keys.
Query remove_old_idempotency_records(const SchemaSql& sql) {
  return {sql("DELETE FROM @lakeproxy_idempotency WHERE key IN (SELECT key FROM "
              "@lakeproxy_idempotency WHERE created_at < now() - interval '25 hours' ORDER BY "
              "created_at LIMIT 100 FOR UPDATE SKIP LOCKED)"),
          {}};
}

base::Task<base::Result<std::optional<IdempotencyRecord>>> IdempotencyRecords::find(
    base::RequestContext context, base::Uuid key) {
  CO_ASSIGN_OR_RETURN(auto rows,
                      co_await pool_->query(context, find_idempotency_record(sql_, key)));
  std::optional<IdempotencyRecord> record;
  if (!rows->empty()) record = read_idempotency_record(*rows);
  co_return record;
}

base::Task<base::Result<IdempotencyRecord>> IdempotencyRecords::keep_refusal(
    base::RequestContext context, model::IdempotencyKey key, unsigned status, std::string answer) {
  Query put{sql_("INSERT INTO @lakeproxy_idempotency (key, request_hash, status, response) VALUES "
                 "($1::uuid, $2::bytea, $3, $4) ON CONFLICT (key) DO NOTHING"),
            {param(base::to_string(key.id)), bytes_param(key.request_hash),
             param(std::int64_t{status}), param(answer)}};
  CO_ASSIGN_OR_RETURN(auto begun, co_await pool_->begin(context, {}));
  std::vector<Query> queries{std::move(put), find_idempotency_record(sql_, key.id),
                             remove_old_idempotency_records(sql_)};
  CO_ASSIGN_OR_RETURN(auto rows, co_await begun.transaction->run_and_commit(std::move(queries)));
  co_return read_idempotency_record(*rows[1]);
}

}  // namespace lake::ducklake
