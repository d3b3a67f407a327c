#pragma once

// What a line of the audit trail is, and its hash, which covers the hash of the line before it: a
// line that was changed, taken out or put in breaks the chain behind it. The one place that says
// over which bytes a hash is made; it is public, so that somebody else can make it, too.
// Source: docs/lake/audit.md, "The chain".

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/crypto/digest.h"
#include "base/json/json.h"

namespace lake::audit {

/// What is recorded of one decision.
struct AuditRecord {
  std::string operation;  ///< "token_issued", "load_table", ...: docs/lake/audit.md lists them.
  std::string object;     ///< What it was about: "sales.orders", the name of a client or catalog.
  std::string decision;   ///< "allowed", "denied", or what else the operation's line says.
  std::string detail;     ///< A JSON object as text; empty: nothing more. Never a secret.
  std::string principal;  ///< auth::Principal::subject; empty: nobody has proved a name.
  std::string issuer;     ///< Who vouches for the principal.
  std::string actor;      ///< Who acts for the principal; empty: itself.
  std::vector<std::string> masked_cols;
  std::vector<std::string> applied_policies;
};

/// A record as it is stored: bounded, without what PostgreSQL cannot hold.
struct AuditLine {
  std::int64_t id = 0;
  std::string ts;  ///< "2026-11-23T10:00:00.123456Z"
  AuditRecord record;
  base::json::Object detail;  ///< In place of record.detail.
  std::string request_id;
};

/// The hash of no line, which the first one follows.
inline constexpr base::crypto::Digest kFirstHash{};

[[nodiscard]] std::string to_text(base::WallTime time);

/// A line without id. Texts that are too long are shortened, bytes that are not UTF-8 and zero
/// characters become escapes, and a detail that is no JSON object stands as its member "text".
[[nodiscard]] AuditLine line_of(AuditRecord record, base::WallTime time, std::string request_id);

/// The members that are hashed, "previous_hash" among them.
[[nodiscard]] base::json::Object members_of(const AuditLine& line,
                                            const base::crypto::Digest& previous);
/// SHA-256 of the members' canonical JSON (RFC 8785).
[[nodiscard]] base::crypto::Digest hash_of(const base::json::Object& members);

}  // namespace lake::audit
