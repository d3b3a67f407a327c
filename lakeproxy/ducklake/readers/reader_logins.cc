#include "lakeproxy/ducklake/readers/reader_logins.h"

#include <fmt/format.h>

#include <array>

#include "base/crypto/digest.h"
#include "base/crypto/encoding.h"
#include "base/crypto/scram.h"
#include "lakeproxy/ducklake/lake/namespace_mapping.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::pg::param;
using base::pg::Query;

constexpr std::size_t kMaxName = 63;
constexpr std::string_view kPrefix = "lakeproxy_p_";
// Each may have 16 sessions: a few principals must not have all that PostgreSQL has.
constexpr std::int64_t kMostOfOne = 100;
constexpr std::chrono::seconds kCollecting{30};
constexpr int kAttempts = 3;

bool is_clash(const base::Result<ReaderLogin>& made) {
  return !made && made.error().kind() == ErrorKind::kConflict;
}

template <std::size_t bytes>
std::string random_hex(base::Random& random) {
  std::array<std::byte, bytes> chance;
  random.fill(chance);
  return base::crypto::to_hex({reinterpret_cast<const char*>(chance.data()), chance.size()});
}

std::string random_bytes(base::Random& random, std::size_t count) {
  std::string bytes(count, '\0');
  random.fill(std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

base::pg::Param names_param(const std::optional<std::vector<model::Namespace>>& names) {
  if (!names) return std::nullopt;
  std::vector<std::optional<std::string>> flat;
  for (const model::Namespace& name : *names) flat.emplace_back(flat_schema_name(name));
  return base::pg::array_param(flat);
}

base::pg::Param texts_param(const std::vector<std::string>& texts) {
  return base::pg::array_param(std::vector<std::optional<std::string>>(texts.begin(), texts.end()));
}

// PostgreSQL stores text without U+0000 alone; a token may hold one.
std::string storable(std::string_view text) {
  std::string stored;
  for (char c : text) stored += c == '\0' ? std::string("\\0") : std::string(1, c);
  return stored;
}

constexpr auto kMake =
    "SELECT extract(epoch FROM @lakeproxy_make_reader($1, $2, $3, "
    "make_interval(secs => $4::bigint), $5::bigint, $6, $7, $8::boolean, $9::text[], "
    "$10::text[]))::bigint";

}  // namespace

std::string reader_role_name(std::string_view subject, std::string_view issuer,
                             base::Random& random) {
  const std::string digest =
      base::crypto::to_hex(base::crypto::view(base::crypto::Sha256()
                                                  .update(issuer)
                                                  .update(std::string_view("\0", 1))
                                                  .update(subject)
                                                  .finish()));
  const std::string tail = fmt::format("_{}_{}", digest.substr(0, 8), random_hex<6>(random));
  std::string name(kPrefix);
  for (char c : subject.substr(0, kMaxName - kPrefix.size() - tail.size())) {
    name += is_plain(c) ? lowered(c) : '_';
  }
  return name + tail;
}

std::string reader_group_of(const std::string& setting, const std::string& schema) {
  if (schema == "public") return setting;
  std::string whole = setting + "_" + schema;
  if (whole.size() <= kMaxName) return whole;
  const base::crypto::Digest digest = base::crypto::sha256(schema);
  return setting + "_" + base::crypto::to_hex(base::crypto::view(digest).substr(0, 8));
}

ReaderLogins::ReaderLogins(base::pg::Pool& pool, base::Random& random, ReaderOptions options)
    : pool_(&pool), random_(&random), options_(std::move(options)) {}

// The first login of a lake closes the lake's tables to readers one by one, beside writers that
// hold them in another order: PostgreSQL ends one of two that wait for each other, and nothing of
// it stays.
base::Task<base::Result<ReaderLogin>> ReaderLogins::make(base::RequestContext context,
                                                         std::string schema, Reader reader) {
  base::Result<ReaderLogin> made = co_await make_once(context, schema, reader);
  for (int again = 1; again < kAttempts && is_clash(made); ++again) {
    made = co_await make_once(context, schema, reader);
  }
  if (!is_clash(made)) co_return made;
  co_return base::fail(ErrorKind::kUnavailable,
                       "writers of the lake are in the way of a login; try again")
      .with_detail(made.error().detail());
}

base::Task<base::Result<ReaderLogin>> ReaderLogins::make_once(base::RequestContext context,
                                                              std::string schema, Reader reader) {
  const SchemaSql sql(schema);
  const std::string group = reader_group_of(options_.group_role, schema);
  ReaderLogin login;
  login.role = reader_role_name(reader.subject, reader.issuer, *random_);
  login.password = base::Secret(base::crypto::to_base64url(random_bytes(*random_, 32)));
  std::vector<Query> first;
  first.push_back({sql("SELECT @lakeproxy_open_to_readers($1)"), {param(group)}});
  CO_ASSIGN_OR_RETURN(auto begun, co_await pool_->begin(context, std::move(first)));
  if (auto problem = begun.rows[0]->opt_text(0, 0)) {
    co_await begun.transaction->rollback();
    co_return base::fail(ErrorKind::kUnsupported,
                         "this server cannot make logins for direct reading; its log says why")
        .with_detail(std::move(*problem));
  }
  const std::string verifier =
      base::crypto::scram_verifier(login.password.reveal(), random_bytes(*random_, 16));
  std::vector<Query> make;
  make.push_back({sql(kMake),
                  {param(group), param(login.role), param(verifier),
                   param(std::int64_t{options_.life.count()}), param(kMostOfOne),
                   param(storable(reader.subject)), param(storable(reader.issuer)),
                   param(reader.is_administrator), names_param(reader.namespaces),
                   texts_param(reader.roles)}});
  CO_ASSIGN_OR_RETURN(auto made, co_await begun.transaction->run_and_commit(std::move(make)));
  const auto until = made[0]->opt_int64(0, 0);
  if (!until) {
    co_return base::fail(ErrorKind::kRateLimited,
                         "too many logins of this principal live; use one of them");
  }
  login.valid_until = base::WallTime(std::chrono::seconds(*until));
  co_return login;
}

base::Task<base::Status> ReaderLogins::end_at(base::RequestContext context, std::string schema,
                                              std::string role, base::WallTime end) {
  const SchemaSql sql(schema);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(end).time_since_epoch().count();
  CO_ASSIGN_OR_RETURN(
      [[maybe_unused]] auto ended,
      co_await pool_->query(context, {sql("SELECT @lakeproxy_end_reader($1, to_timestamp($2))"),
                                      {param(role), param(std::int64_t{seconds})}}));
  co_return base::Status{};
}

base::Task<base::Result<ReaderFolders>> ReaderLogins::folders(base::RequestContext context,
                                                              std::string schema, std::string role,
                                                              model::Namespace name_space,
                                                              std::optional<std::string> table) {
  const SchemaSql sql(schema);
  CO_ASSIGN_OR_RETURN(
      auto rows,
      co_await pool_->query(context,
                            {sql("SELECT kind, folder FROM @lakeproxy_reader_folders($1, $2, $3)"),
                             {param(role), param(flat_schema_name(name_space)), table}}));
  ReaderFolders folders;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    std::string folder(rows->text(i, 1));
    if (rows->text(i, 0) == "namespace") {
      folders.name_space = std::move(folder);
    } else {
      (rows->text(i, 0) == "table" ? folders.tables : folders.closed).push_back(std::move(folder));
    }
  }
  co_return folders;
}

base::Task<base::Result<std::int64_t>> ReaderLogins::collect(base::RequestContext context,
                                                             std::string schema) {
  const SchemaSql sql(schema);
  context.deadline = std::min(context.deadline, std::chrono::steady_clock::now() + kCollecting);
  CO_ASSIGN_OR_RETURN(auto rows,
                      co_await pool_->query(context, {sql("SELECT @lakeproxy_collect_readers($1)"),
                                                      {param(options_.group_role)}}));
  co_return rows->int64(0, 0);
}

base::Task<base::Result<bool>> ReaderLogins::can_make(base::RequestContext context) {
  CO_ASSIGN_OR_RETURN(auto rows, co_await pool_->query(
                                     context, {{"SELECT rolsuper OR rolcreaterole FROM "
                                                "pg_catalog.pg_roles WHERE rolname = current_user"},
                                               {}}));
  co_return rows->boolean(0, 0);
}

}  // namespace lake::ducklake
