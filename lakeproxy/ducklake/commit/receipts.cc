#include "lakeproxy/ducklake/commit/receipts.h"

#include "base/core/text.h"

namespace lake::ducklake {
namespace {

using base::pg::bytes_param;
using base::pg::param;
using base::pg::Query;

// The status of a change that was made; no HTTP status is 0.
constexpr std::int64_t kMade = 0;

Receipt read_receipt(const base::pg::Rows& rows) {
  Receipt receipt{.request_hash = rows.bytes(0, 0), .answer = std::string(rows.text(0, 2))};
  std::int64_t status = rows.int64(0, 1);
  if (status != kMade) receipt.refused_status = static_cast<unsigned>(status);
  return receipt;
}

}  // namespace

Query find_receipt(const SchemaSql& sql, const base::Uuid& key) {
  return {sql("SELECT request_hash, status, response FROM @lakeproxy_idempotency WHERE key = "
              "$1::uuid"),
          {param(base::to_string(key))}};
}

Query put_receipt(const SchemaSql& sql, const model::ChangeKey& key, const std::string& answer) {
  return {
      sql("INSERT INTO @lakeproxy_idempotency (key, request_hash, status, response) VALUES "
          "($1::uuid, $2::bytea, $3, $4)"),
      {param(base::to_string(key.id)), bytes_param(key.request_hash), param(kMade), param(answer)}};
}

// A few at a time: a commit must not pay for a day's keys.
Query remove_old_receipts(const SchemaSql& sql) {
  return {sql("DELETE FROM @lakeproxy_idempotency WHERE key IN (SELECT key FROM "
              "@lakeproxy_idempotency WHERE created_at < now() - interval '25 hours' ORDER BY "
              "created_at LIMIT 100 FOR UPDATE SKIP LOCKED)"),
          {}};
}

base::Task<base::Result<std::optional<Receipt>>> Receipts::find(base::RequestContext context,
                                                                base::Uuid key) {
  CO_ASSIGN_OR_RETURN(auto rows, co_await pool_->query(context, find_receipt(sql_, key)));
  std::optional<Receipt> receipt;
  if (!rows->empty()) receipt = read_receipt(*rows);
  co_return receipt;
}

base::Task<base::Result<Receipt>> Receipts::keep_refusal(base::RequestContext context,
                                                         model::ChangeKey key, unsigned status,
                                                         std::string answer) {
  Query put{sql_("INSERT INTO @lakeproxy_idempotency (key, request_hash, status, response) VALUES "
                 "($1::uuid, $2::bytea, $3, $4) ON CONFLICT (key) DO NOTHING"),
            {param(base::to_string(key.id)), bytes_param(key.request_hash),
             param(std::int64_t{status}), param(answer)}};
  CO_ASSIGN_OR_RETURN(auto begun, co_await pool_->begin(context, {}));
  std::vector<Query> queries{std::move(put), find_receipt(sql_, key.id), remove_old_receipts(sql_)};
  CO_ASSIGN_OR_RETURN(auto rows, co_await begun.transaction->run_and_commit(std::move(queries)));
  co_return read_receipt(*rows[1]);
}

}  // namespace lake::ducklake
