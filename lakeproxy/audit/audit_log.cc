#include "lakeproxy/audit/audit_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "base/crypto/encoding.h"

namespace lake::audit {
namespace {

using base::ErrorKind;
using base::Result;
using base::Task;
using base::crypto::Digest;
using base::pg::param;
using base::pg::Query;
using base::pg::Rows;

constexpr std::int64_t kPage = 1000;
constexpr std::int64_t kPurgedAtOnce = 5000;

constexpr std::string_view kInsert = R"sql(
INSERT INTO @lakeproxy_audit
SELECT r.id, r.ts, r.principal, r.issuer, r.actor, r.operation, r.object, r.decision, r.masked_cols,
       r.applied_policies, r.detail, r.request_id, decode(r.previous_hash, 'hex'), decode(r.hash, 'hex')
  FROM jsonb_to_recordset($1::jsonb) AS r(id bigint, ts timestamptz, principal text, issuer text, actor text,
       operation text, object text, decision text, masked_cols jsonb, applied_policies jsonb, detail jsonb,
       request_id text, previous_hash text, hash text))sql";

// In front of kInsert, where the newest line is known: $2 and $3 the one to come, $4 and $5 the one
// that must be there. An insert of somebody else in between is waited for, and then it is not.
constexpr std::string_view kMoveHead = R"sql(
WITH moved AS (
  UPDATE @lakeproxy_audit_head SET id = $2::bigint, hash = decode($3, 'hex')
   WHERE id = $4::bigint AND hash = decode($5, 'hex') RETURNING 1
))sql";
constexpr std::string_view kWhereMoved = " WHERE EXISTS (SELECT 1 FROM moved)";

constexpr auto kLockHead = "SELECT id, encode(hash, 'hex') FROM @lakeproxy_audit_head FOR UPDATE";

// A line as its members, in the words of members_of(), and its hash.
constexpr auto kColumns = R"sql(
SELECT a.id, jsonb_build_object('id', a.id,
         'ts', to_char(a.ts AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
         'principal', a.principal, 'issuer', a.issuer, 'actor', a.actor, 'operation', a.operation,
         'object', a.object, 'decision', a.decision, 'masked_cols', a.masked_cols,
         'applied_policies', a.applied_policies, 'detail', a.detail, 'request_id', a.request_id,
         'previous_hash', encode(a.previous_hash, 'hex')), encode(a.hash, 'hex')
  FROM @lakeproxy_audit a)sql";

// Only from the old end, so that what is left is one chain behind the anchor.
constexpr auto kPurge = R"sql(
WITH anchor AS (
  SELECT 1 FROM @lakeproxy_audit_anchor FOR UPDATE SKIP LOCKED
), oldest AS MATERIALIZED (
  SELECT id, ts FROM @lakeproxy_audit WHERE EXISTS (SELECT 1 FROM anchor) ORDER BY id LIMIT $2
), gone AS (
  DELETE FROM @lakeproxy_audit a USING oldest o
   WHERE a.id = o.id AND o.id < coalesce((SELECT min(k.id) FROM oldest k WHERE k.ts >= $1::timestamptz), o.id + 1)
  RETURNING a.id, a.hash
)
UPDATE @lakeproxy_audit_anchor SET id = g.id, hash = g.hash
  FROM (SELECT id, hash FROM gone ORDER BY id DESC LIMIT 1) AS g
RETURNING (SELECT count(*) FROM gone))sql";

std::string hex(const Digest& digest) { return base::crypto::to_hex(base::crypto::view(digest)); }

Result<Digest> digest_of(std::string_view text) {
  Digest digest{};
  ASSIGN_OR_RETURN(const std::string bytes, base::crypto::from_hex(text, digest.size()));
  if (bytes.size() != digest.size()) return base::fail(ErrorKind::kInvalid, "a hash is too short");
  std::ranges::copy(bytes, digest.begin());
  return digest;
}

// Columns 0 and 1 of a query for the head or the anchor. What is no hash is one that fits nowhere.
ChainPlace place_of(const Rows& rows) {
  ChainPlace place{.id = rows.int64(0, 0)};
  if (auto digest = digest_of(rows.text(0, 1))) place.hash = *digest;
  return place;
}

// Goes down the chain, line by line.
class Walk {
 public:
  Walk(ChainPlace anchor, std::optional<ChainPlace> noted) : at_(anchor), noted_(noted) {
    check_noted();
  }

  [[nodiscard]] const ChainPlace& at() const { return at_; }
  [[nodiscard]] const std::optional<ChainCheck::Break>& broken() const { return broken_; }

  /// Returns whether the chain is whole so far.
  bool step(const Rows& rows, std::size_t row) {
    const std::int64_t id = rows.int64(row, 0);
    if (id != at_.id + 1) return stop(at_.id + 1, "is not there");
    auto members = base::json::parse(rows.text(row, 1));
    const auto* object = members ? members->if_object() : nullptr;
    if (object == nullptr) return stop(id, "cannot be read");
    if (object->at("previous_hash") != base::json::Value(hex(at_.hash))) {
      return stop(id, "does not follow the line before it");
    }
    const Digest hash = hash_of(*object);
    if (hex(hash) != rows.text(row, 2)) return stop(id, "was changed");
    at_ = {id, hash};
    return check_noted();
  }

  bool stop(std::int64_t id, std::string why) {
    broken_ = {id, std::move(why)};
    return false;
  }

 private:
  bool check_noted() {
    if (!noted_ || noted_->id != at_.id || noted_->hash == at_.hash) return true;
    return stop(at_.id, "is not the line that was noted");
  }

  ChainPlace at_;
  std::optional<ChainPlace> noted_;
  std::optional<ChainCheck::Break> broken_;
};

}  // namespace

std::string to_text(const ChainPlace& place) {
  return fmt::format("{}:{}", place.id, hex(place.hash));
}

Result<ChainPlace> chain_place_of(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto id = base::parse_int64(text.substr(0, colon));
  auto hash = digest_of(text.substr(std::min(colon + 1, text.size())));
  if (!id || *id < 0 || !hash) {
    return base::fail(ErrorKind::kInvalid,
                      "must be a line's number, ':' and 64 hexadecimal digits");
  }
  return ChainPlace{*id, *hash};
}

namespace {

// The lines behind `at`, which moves to the last of them, as what kInsert takes.
std::string chained(ChainPlace& at, std::vector<AuditLine>& lines) {
  base::json::Array rows;
  for (AuditLine& line : lines) {
    line.id = ++at.id;
    base::json::Object members = members_of(line, at.hash);
    at.hash = hash_of(members);
    members["hash"] = hex(at.hash);
    rows.emplace_back(std::move(members));
  }
  return base::json::write(rows);
}

}  // namespace

std::vector<Query> AuditLog::lines_after(ChainPlace& at, std::vector<AuditLine> lines) const {
  std::vector<Query> add;
  add.push_back({sql_(kInsert), {param(chained(at, lines))}});
  add.push_back({sql_("UPDATE @lakeproxy_audit_head SET id = $1, hash = decode($2, 'hex')"),
                 {param(at.id), param(hex(at.hash))}});
  return add;
}

Task<Result<ChainPlace>> AuditLog::append(base::RequestContext context,
                                          std::vector<AuditLine> lines,
                                          std::optional<ChainPlace> newest) const {
  if (lines.empty()) co_return base::fail(ErrorKind::kInternal, "no lines to append");
  if (newest) {
    ChainPlace at = *newest;
    std::string rows = chained(at, lines);
    Query add{sql_(std::string(kMoveHead).append(kInsert).append(kWhereMoved)),
              {param(std::move(rows)), param(at.id), param(hex(at.hash)), param(newest->id),
               param(hex(newest->hash))}};
    CO_ASSIGN_OR_RETURN(auto added, co_await pool_->query(context, std::move(add)));
    if (added->affected() > 0) co_return at;
  }
  std::vector<Query> lock{{sql_(kLockHead), {}}};
  CO_ASSIGN_OR_RETURN(auto begun, co_await pool_->begin(context, std::move(lock)));
  ChainPlace at = place_of(*begun.rows.front());
  std::vector<Query> add = lines_after(at, std::move(lines));
  CO_RETURN_IF_ERROR(co_await begun.transaction->run_and_commit(std::move(add)));
  co_return at;
}

Task<Result<std::vector<Query>>> AuditLog::lines_within(base::pg::Transaction* transaction,
                                                        std::vector<AuditLine> lines) const {
  std::vector<Query> lock{{sql_(kLockHead), {}}};
  CO_ASSIGN_OR_RETURN(auto rows, co_await transaction->run(std::move(lock)));
  ChainPlace at = place_of(*rows.front());
  co_return lines_after(at, std::move(lines));
}

Task<Result<base::json::Array>> AuditLog::list(base::RequestContext context,
                                               AuditFilter filter) const {
  std::string text(kColumns);
  std::vector<base::pg::Param> params;
  auto where = [&](std::string_view column, std::string_view relation, base::pg::Param value) {
    params.push_back(std::move(value));
    text += fmt::format("{} a.{} {} ${}", params.size() == 1 ? " WHERE" : " AND", column, relation,
                        params.size());
  };
  if (!filter.principal.empty()) where("principal", "=", param(filter.principal));
  if (!filter.operation.empty()) where("operation", "=", param(filter.operation));
  if (!filter.object.empty()) where("object", "=", param(filter.object));
  if (filter.before) where("id", "<", param(*filter.before));
  params.push_back(param(std::clamp<std::int64_t>(filter.limit, 1, kPage)));
  text += fmt::format(" ORDER BY a.id DESC LIMIT ${}", params.size());
  CO_ASSIGN_OR_RETURN(auto rows, co_await pool_->query(context, {sql_(text), std::move(params)}));
  base::json::Array lines;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    CO_ASSIGN_OR_RETURN(auto line, base::json::parse(rows->text(i, 1)));
    line.as_object()["hash"] = rows->text(i, 2);
    lines.push_back(std::move(line));
  }
  co_return lines;
}

Task<Result<ChainCheck>> AuditLog::verify(base::RequestContext context,
                                          std::optional<ChainPlace> noted) const {
  const Query read_anchor{sql_("SELECT id, encode(hash, 'hex') FROM @lakeproxy_audit_anchor"), {}};
  const Query read_head{sql_("SELECT id, encode(hash, 'hex') FROM @lakeproxy_audit_head"), {}};
  CO_ASSIGN_OR_RETURN(auto ends, co_await pool_->read(context, {read_anchor, read_head}));
  ChainCheck check{.anchor = place_of(*ends[0]), .head = place_of(*ends[1]), .broken = {}};
  const ChainPlace head = check.head;
  Walk walk(check.anchor, noted);
  while (!walk.broken() && walk.at().id < head.id) {
    Query read_page{
        sql_(std::string(kColumns) + " WHERE a.id > $1 AND a.id <= $2 ORDER BY a.id LIMIT $3"),
        {param(walk.at().id), param(head.id), param(kPage)}};
    CO_ASSIGN_OR_RETURN(auto read, co_await pool_->read(context, {read_anchor, read_page}));
    const ChainPlace anchor = place_of(*read[0]);
    if (anchor.id > walk.at().id) {
      // Removed by age meanwhile: what is left follows the new anchor.
      check.anchor = anchor;
      walk = Walk(anchor, noted);
      continue;
    }
    const Rows& rows = *read[1];
    if (rows.empty()) walk.stop(walk.at().id + 1, "is not there");
    for (std::size_t i = 0; i < rows.size() && walk.step(rows, i); ++i) {
    }
  }
  check.head = walk.at();
  check.broken = walk.broken();
  if (!check.broken && check.head != head) {
    check.broken = {head.id, "is not the newest line that was written"};
  }
  if (!check.broken && noted && noted->id > head.id) check.broken = {noted->id, "is not there"};
  co_return check;
}

Task<Result<std::int64_t>> AuditLog::purge(base::RequestContext context,
                                           base::WallTime limit) const {
  Query remove{sql_(kPurge), {param(to_text(limit)), param(kPurgedAtOnce)}};
  CO_ASSIGN_OR_RETURN(auto rows, co_await pool_->query(context, std::move(remove)));
  co_return rows->empty() ? 0 : rows->int64(0, 0);
}

}  // namespace lake::audit
