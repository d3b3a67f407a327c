#pragma once

// What is stored of the audit trail: added to, read, checked against its own hashes, and shortened
// at its old end.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"
#include "base/postgres/session.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/audit/audit_chain.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"

namespace lake::audit {

/// Which lines are asked for; an empty text asks for all.
struct AuditFilter {
  std::string principal, operation, object;
  std::optional<std::int64_t> before;  ///< Only lines of smaller ids.
  std::int64_t limit = 100;            ///< 1 to 1,000.
};

/// A place of the chain, to be noted somewhere else: "17:" and 64 hexadecimal digits.
struct ChainPlace {
  std::int64_t id = 0;
  base::crypto::Digest hash{};
  friend bool operator==(const ChainPlace&, const ChainPlace&) = default;
};
[[nodiscard]] std::string to_text(const ChainPlace& place);
/// Errors: kInvalid.
[[nodiscard]] base::Result<ChainPlace> chain_place_of(std::string_view text);

/// What a check of the whole chain has found.
struct ChainCheck {
  ChainPlace anchor;  ///< What the oldest line follows.
  ChainPlace head;    ///< The newest line that was checked.
  /// The first line that is wrong, and why; nothing: the chain is whole.
  struct Break {
    std::int64_t id = 0;
    std::string why;
  };
  std::optional<Break> broken;
};

/// One catalog's. `pool` outlives it and its tasks.
/// Errors everywhere: those of Pool.
class AuditLog {
 public:
  AuditLog(base::pg::Pool& pool, const std::string& metadata_schema)
      : pool_(&pool), sql_(metadata_schema) {}

  /// Adds the lines, in their order, in one transaction; their ids are given here. Returns the
  /// newest line then. `newest` is the one before, as far as the caller knows: where that is right,
  /// it takes one round trip in place of two.
  [[nodiscard]] base::Task<base::Result<ChainPlace>> append(
      base::RequestContext context, std::vector<AuditLine> lines,
      std::optional<ChainPlace> newest = std::nullopt) const;
  /// Of a change that is audited in its own transaction: locks the chain's head, as its last lock,
  /// and returns what adds the lines. The transaction must end soon.
  [[nodiscard]] base::Task<base::Result<std::vector<base::pg::Query>>> lines_within(
      base::pg::Transaction* transaction, std::vector<AuditLine> lines) const;
  /// The newest first, each with its members and its hash.
  [[nodiscard]] base::Task<base::Result<base::json::Array>> list(base::RequestContext context,
                                                                 AuditFilter filter) const;
  /// Reads every line that is there now. `noted`, a head of an earlier check, must be a line of
  /// the chain, or older than the oldest one that is kept. Lines may be added and removed by age
  /// meanwhile.
  [[nodiscard]] base::Task<base::Result<ChainCheck>> verify(base::RequestContext context,
                                                            std::optional<ChainPlace> noted) const;
  /// Removes lines from before `limit`, at most 5,000 and none behind a newer one; returns how
  /// many. 0, too, while another process does it.
  [[nodiscard]] base::Task<base::Result<std::int64_t>> purge(base::RequestContext context,
                                                             base::WallTime limit) const;

 private:
  [[nodiscard]] std::vector<base::pg::Query> lines_after(ChainPlace& at,
                                                         std::vector<AuditLine> lines) const;

  base::pg::Pool* pool_;
  ducklake::SchemaSql sql_;
};

}  // namespace lake::audit
