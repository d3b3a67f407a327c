#include "lakeproxy/operation/vend_ducklake.h"

#include <fmt/format.h>

#include "lakeproxy/auth/readable_namespaces.h"
#include "lakeproxy/operation/see_table.h"

namespace lake::operation {
namespace {

ducklake::Reader reader_of(const auth::Principal& principal) {
  ducklake::Reader reader;
  reader.subject = principal.subject;
  reader.issuer = principal.issuer;
  reader.is_administrator = principal.superuser;
  if (principal.grants) reader.roles = principal.grants->roles;
  if (principal.superuser) return reader;
  reader.namespaces = std::vector<model::Namespace>();
  if (principal.grants) reader.namespaces = auth::readable_namespaces(principal.grants->scopes);
  return reader;
}

std::string quoted(std::string_view text, char quote) {
  std::string sql(1, quote);
  for (char c : text) sql.append(c == quote ? 2 : 1, c);
  return sql + quote;
}

// The passwords are of letters that no part of this needs to quote.
DuckLakeAccess access_with(const Catalog& catalog, const DirectReading& direct,
                           ducklake::ReaderLogin login) {
  const std::string dsn =
      fmt::format("{} user={} password={}", direct.server, login.role, login.password.reveal());
  const std::string attach =
      fmt::format("ATTACH {} AS {} (READ_ONLY, DATA_PATH {}, METADATA_SCHEMA {})",
                  quoted("ducklake:postgres:" + dsn, '\''), quoted(catalog.lake.catalog, '"'),
                  quoted(catalog.lake.data_path, '\''), quoted(catalog.lake.metadata_schema, '\''));
  return {.role = std::move(login.role),
          .valid_until = login.valid_until.empty() ? std::nullopt
                                                   : std::optional(std::move(login.valid_until)),
          .dsn = base::Secret(dsn),
          .data_path = catalog.lake.data_path,
          .attach_sql = base::Secret(attach)};
}

}  // namespace

base::Task<base::Result<DuckLakeAccess>> vend_ducklake(base::RequestContext context,
                                                       Catalog* catalog,
                                                       const DirectReading* direct,
                                                       policy::Authorized<VendDuckLake> request) {
  const auth::Principal& principal = request.principal();
  CO_RETURN_IF_ERROR(co_await catalog->reader->load_namespace(context, request->name_space));
  if (request->table) {
    CO_ASSIGN_OR_RETURN(const auto table, co_await catalog->reader->find_table(
                                              context, {request->name_space, *request->table}));
    CO_ASSIGN_OR_RETURN(const bool masked, co_await catalog->upkeep->is_file_masked(
                                               context, table, principal.subject,
                                               principal.grants ? principal.grants->roles
                                                                : std::vector<std::string>()));
    if (masked) {
      co_return base::fail(base::ErrorKind::kForbidden,
                           fmt::format("table {}: its files are masked for you: load it through "
                                       "the Iceberg API",
                                       *request->table))
          .with_reason(kMasked);
    }
  }
  ducklake::ReaderLogin login{direct->owner, direct->owner_password, ""};
  if (direct->logins != nullptr) {
    CO_ASSIGN_OR_RETURN(login, co_await direct->logins->make(context, catalog->lake.metadata_schema,
                                                             reader_of(principal)));
  } else {
    catalog->log->warning("the owner's login was given away: row security is off",
                          {{"setting", "LAKEPROXY_RLS"}, {"user", principal.subject}});
  }
  catalog->log->info("login for direct reading", {{"operation", "ducklake_credentials"},
                                                  {"user", principal.subject},
                                                  {"issuer", principal.issuer},
                                                  {"catalog", catalog->lake.catalog},
                                                  {"role", login.role},
                                                  {"valid_until", login.valid_until}});
  DuckLakeAccess access = access_with(*catalog, *direct, std::move(login));
  if (direct->logins != nullptr) {
    CO_ASSIGN_OR_RETURN(access.folders, co_await direct->logins->folders(
                                            context, catalog->lake.metadata_schema, access.role,
                                            request->name_space, request->table));
  }
  co_return access;
}

}  // namespace lake::operation
