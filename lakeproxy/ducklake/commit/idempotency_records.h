#pragma once

// What became of the changes that clients named by an Idempotency-Key. A
// success is written by the transaction that makes the change (Committer),
// so neither can be there without the other; a refusal is written here, behind
// the request. Whichever comes first stands.
// Source: Iceberg REST description, parameter "Idempotency-Key".

#include <cstdint>
#include <optional>
#include <string>

#include "base/postgres/session.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/model/idempotency_key.h"

namespace lake::ducklake {

struct IdempotencyRecord {
  std::string request_hash;
  /// Nothing: the change was made, and its answer follows from the state.
  std::optional<unsigned> refused_status;
  /// The body of the refusal; of a success, what the lake's state no longer tells.
  std::string answer;
};

/// One event loop's access. `pool` outlives it.
/// Errors everywhere: kUnavailable, kTimeout.
class IdempotencyRecords {
 public:
  IdempotencyRecords(base::pg::Pool& pool, const std::string& metadata_schema)
      : pool_(&pool), sql_(metadata_schema) {}

  [[nodiscard]] base::Task<base::Result<std::optional<IdempotencyRecord>>> find(
      base::RequestContext context, base::Uuid key);
  /// Keeps a refusal, unless the key has a record. Returns the one that stands.
  [[nodiscard]] base::Task<base::Result<IdempotencyRecord>> keep_refusal(
      base::RequestContext context, model::IdempotencyKey key, unsigned status, std::string answer);

 private:
  base::pg::Pool* pool_;
  SchemaSql sql_;
};

/// The statements of a commit that carries a key: whether it is there already
/// (a row, then), and its row, with rows that outlived their time removed.
[[nodiscard]] base::pg::Query find_idempotency_record(const SchemaSql& sql, const base::Uuid& key);
[[nodiscard]] base::pg::Query put_idempotency_record(const SchemaSql& sql,
                                                     const model::IdempotencyKey& key,
                                                     const std::string& answer);
[[nodiscard]] base::pg::Query remove_old_idempotency_records(const SchemaSql& sql);

/// How long a key may be used again. ISO 8601, for clients; a record is kept
/// for an hour more.
inline constexpr std::string_view kIdempotencyKeyLifetime = "PT24H";

}  // namespace lake::ducklake
