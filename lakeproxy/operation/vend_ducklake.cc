#include "lakeproxy/operation/vend_ducklake.h"

#include <fmt/format.h>

#include "lakeproxy/auth/readable_namespaces.h"
#include "lakeproxy/ducklake/lake/namespace_mapping.h"
#include "lakeproxy/ducklake/lake/reasons.h"
#include "lakeproxy/governance/resolver.h"
#include "lakeproxy/operation/masking_view.h"
#include "lakeproxy/operation/see_table.h"
#include "lakeproxy/policy/masking_view.h"
#include "lakeproxy/to_iceberg/masked/mask_marks.h"

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
          .valid_until = login.valid_until,
          .dsn = base::Secret(dsn),
          .data_path = catalog.lake.data_path,
          .attach_sql = base::Secret(attach)};
}

// Each costs a load of its table.
constexpr std::size_t kMostMaskedTables = 256;

// The statements that make masking views in a session of DuckDB, in a database of its memory: the
// lake is attached to be read.
class SessionViews {
 public:
  SessionViews(const Catalog& catalog, const model::Namespace& name_space)
      : lake_(quoted(catalog.lake.catalog, '"')),
        database_(quoted(catalog.lake.catalog + "_masked", '"')),
        schema_(quoted(ducklake::flat_schema_name(name_space), '"')) {}

  void add(const model::TableIdentifier& table, const publish::LoadedTable& loaded,
           const policy::MaskPlan& plan) {
    begin();
    const std::string view = quoted(policy::masking_view_name(table.name, plan), '"');
    statements_.push_back(
        fmt::format("CREATE OR REPLACE VIEW {}.{}.{} AS {}", database_, schema_, view,
                    masking_query(plan, loaded.metadata.current_schema(),
                                  fmt::format("{}.{}", lake_, duckdb_name(table)))));
    name(table, fmt::format("SELECT * FROM {}.{}.{}", database_, schema_, view));
  }
  // A table that the policies keep from the caller, though the login knows it.
  void refuse(const model::TableIdentifier& table, std::string_view why) {
    begin();
    name(table, fmt::format("SELECT 1 AS refused WHERE error({}) IS NULL", quoted(why, '\'')));
  }
  [[nodiscard]] std::vector<std::string> take(bool transparent) && {
    if (statements_.empty() || !transparent) return std::move(statements_);
    for (std::string& statement : names_) statements_.push_back(std::move(statement));
    const std::string path = fmt::format("{}.{},{}.{}", database_, schema_, lake_, schema_);
    statements_.push_back(fmt::format("SET search_path = {}", quoted(path, '\'')));
    return std::move(statements_);
  }

 private:
  void begin() {
    if (!statements_.empty()) return;
    statements_.push_back(fmt::format("ATTACH IF NOT EXISTS ':memory:' AS {}", database_));
    statements_.push_back(fmt::format("CREATE SCHEMA IF NOT EXISTS {}.{}", database_, schema_));
  }
  void name(const model::TableIdentifier& table, std::string_view query) {
    names_.push_back(fmt::format("CREATE OR REPLACE VIEW {}.{}.{} AS {}", database_, schema_,
                                 quoted(table.name, '"'), query));
  }

  std::string lake_, database_, schema_;
  std::vector<std::string> statements_, names_;
};

// The one that is asked for, or all of the namespace, where policies reach them: others are read
// here also where Iceberg's clients cannot be shown them.
base::Task<base::Result<std::vector<std::string>>> tables_to_mask(base::RequestContext context,
                                                                  Catalog* catalog,
                                                                  const VendDuckLake* request) {
  if (catalog->resolver == nullptr) co_return std::vector<std::string>();
  CO_ASSIGN_OR_RETURN(auto names, co_await catalog->resolver->governed_tables(
                                      context, ducklake::flat_schema_name(request->name_space),
                                      request->table, kMostMaskedTables));
  if (names.size() > kMostMaskedTables) {
    co_return base::fail(base::ErrorKind::kTooLarge,
                         fmt::format("more than {} tables of the namespace have policies: ask for "
                                     "one of them with ?table=",
                                     kMostMaskedTables));
  }
  co_return names;
}

base::Task<base::Result<SeenTable>> see_by_name(base::RequestContext context, Catalog* catalog,
                                                auth::Principal principal,
                                                model::TableIdentifier identifier) {
  CO_ASSIGN_OR_RETURN(auto loaded,
                      co_await catalog->loaded_tables->get(context, std::move(identifier)));
  co_return co_await see_lake_table(context, catalog, std::move(principal), std::move(loaded));
}

// What the caller's engine has to apply. A table of the namespace that cannot be told is refused by
// its view; the one that was asked for is an error.
base::Task<base::Status> add_masks(base::RequestContext context, Catalog* catalog,
                                   policy::Authorized<VendDuckLake> request, bool transparent,
                                   DuckLakeAccess* access) {
  CO_ASSIGN_OR_RETURN(const auto names, co_await tables_to_mask(context, catalog, &*request));
  SessionViews views(*catalog, request->name_space);
  for (const std::string& name : names) {
    const model::TableIdentifier identifier{request->name_space, name};
    auto seen = co_await see_by_name(context, catalog, request.principal(), identifier);
    if (!seen) {
      if (request->table) co_return std::move(seen).error();
      if (seen.error().reason() == ducklake::kNoSuchTable) continue;
      views.refuse(identifier, seen.error().message());
      continue;
    }
    if (!seen->unmasked_because.empty()) access->failed_open[name] = seen->unmasked_because;
    if (seen->told_mask == nullptr) continue;
    const bool has_view = masked::has_masking_views(seen->loaded->metadata);
    if (has_view) {
      views.add(identifier, *seen->loaded, *seen->told_mask);
      access->masked_tables.push_back(name);
    }
    if (!request->table) continue;
    access->mask = LakeMask{
        .view = has_view ? policy::masking_view_name(name, *seen->told_mask) : "",
        .plan = seen->told_mask,
        .projection = mask_projection(*seen->told_mask, seen->loaded->metadata.current_schema())};
  }
  access->post_attach_sql = std::move(views).take(transparent);
  access->is_transparent = transparent && !access->post_attach_sql.empty();
  co_return base::Status{};
}

}  // namespace

base::Task<base::Result<DuckLakeAccess>> vend_ducklake(base::RequestContext context,
                                                       Catalog* catalog,
                                                       const DirectReading* direct,
                                                       policy::Authorized<VendDuckLake> request) {
  const auth::Principal& principal = request.principal();
  // The database would decide by the roles of the subject alone.
  if (!principal.actor.empty()) {
    co_return base::fail(base::ErrorKind::kForbidden,
                         "a login of the database is not given to one who acts for another: load "
                         "the table through the Iceberg API")
        .with_reason(kMasked);
  }
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
  // Before the login is made: what is refused makes none.
  DuckLakeAccess masks;
  CO_RETURN_IF_ERROR(
      co_await add_masks(context, catalog, request, direct->transparent_masking, &masks));
  ducklake::ReaderLogin login{direct->owner, direct->owner_password};
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
                                                  {"role", login.role}});
  DuckLakeAccess access = access_with(*catalog, *direct, std::move(login));
  access.post_attach_sql = std::move(masks.post_attach_sql);
  access.is_transparent = masks.is_transparent;
  access.mask = std::move(masks.mask);
  access.masked_tables = std::move(masks.masked_tables);
  access.failed_open = std::move(masks.failed_open);
  if (direct->logins != nullptr) {
    CO_ASSIGN_OR_RETURN(access.folders, co_await direct->logins->folders(
                                            context, catalog->lake.metadata_schema, access.role,
                                            request->name_space, request->table));
  }
  co_return access;
}

}  // namespace lake::operation
