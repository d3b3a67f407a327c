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
#include "lakeproxy/model/change_key.h"

namespace lake::ducklake {

struct Receipt {
  std::string request_hash;
  /// Nothing: the change was made, and its answer follows from the state.
  std::optional<unsigned> refused_status;
  /// The refusal's body, or what no state tells any more of a success.
  std::string answer;
};

/// One event loop's access. `pool` outlives it.
/// Errors everywhere: kUnavailable, kTimeout.
class Receipts {
 public:
  Receipts(base::pg::Pool& pool, const std::string& metadata_schema)
      : pool_(&pool), sql_(metadata_schema) {}

  [[nodiscard]] base::Task<base::Result<std::optional<Receipt>>> find(base::RequestContext context,
                                                                      base::Uuid key);
  /// Keeps a refusal, unless the key has a receipt. Returns the one that stands.
  [[nodiscard]] base::Task<base::Result<Receipt>> keep_refusal(base::RequestContext context,
                                                               model::ChangeKey key,
                                                               unsigned status, std::string answer);

 private:
  base::pg::Pool* pool_;
  SchemaSql sql_;
};

/// The statements of a commit that carries a key: whether it is there already
/// (a row, then), and its row, with rows that outlived their time removed.
[[nodiscard]] base::pg::Query find_receipt(const SchemaSql& sql, const base::Uuid& key);
[[nodiscard]] base::pg::Query put_receipt(const SchemaSql& sql, const model::ChangeKey& key,
                                          const std::string& answer);
[[nodiscard]] base::pg::Query remove_old_receipts(const SchemaSql& sql);

/// How long a key may be used again. ISO 8601, for clients; a receipt is kept
/// for an hour more.
inline constexpr std::string_view kReceiptLifetime = "PT24H";

}  // namespace lake::ducklake
