#include "lakeproxy/ducklake/lake/lake_upgrade.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/core/embedded_text.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"

namespace base::embedded {
std::span<const Text> lake_upgrades();
}  // namespace base::embedded

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::fail;
using base::RequestContext;
using base::Result;
using base::Task;
using base::pg::param;
using base::pg::Query;
using base::pg::Rows;

// Whoever is in the database besides the one who asks. Names and addresses of others may be
// hidden from a role without rights; that they are there is not.
constexpr auto kSessions = R"sql(
SELECT format('pid %s, user %s, application %s, from %s', pid, coalesce(usename, '?'),
              coalesce(nullif(application_name, ''), '?'), coalesce(client_addr::text, 'a local socket'))
  FROM pg_catalog.pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
 ORDER BY pid)sql";

constexpr auto kFacts = R"sql(
SELECT (SELECT max(value) FROM @ducklake_metadata WHERE key = 'version'),
       (SELECT max(value) FROM @ducklake_metadata WHERE key = 'encrypted'))sql";

// Inlined tables that do not begin with the columns of the lake's version. $1: the schema,
// $2: what their names begin with.
constexpr auto kInlinedNames = R"sql(
SELECT i.table_name FROM @ducklake_inlined_data_tables i
 WHERE (SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_catalog.pg_attribute a
          JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
          JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = $1 AND c.relname = i.table_name AND a.attnum BETWEEN 1 AND 3)
       IS DISTINCT FROM ARRAY[$2 || 'row_id', $2 || 'begin_snapshot', $2 || 'end_snapshot']
 ORDER BY 1)sql";

constexpr auto kTwice = R"sql(
SELECT format('%s at schema version %s', table_id, schema_version) FROM @ducklake_inlined_data_tables
 GROUP BY table_id, schema_version HAVING count(*) > 1 ORDER BY 1)sql";

// Columns of a table itself: PostgreSQL cannot tell them from DuckLake's own of 1.1.
constexpr auto kReserved = R"sql(
SELECT DISTINCT t.table_name || '.' || c.column_name FROM @ducklake_column c
  JOIN @ducklake_table t ON t.table_id = c.table_id AND t.end_snapshot IS NULL
 WHERE c.end_snapshot IS NULL AND c.parent_column IS NULL AND starts_with(lower(c.column_name), '_ducklake_')
 ORDER BY 1)sql";

// More of a table than its totals say: see table_stats.h.
constexpr auto kTotals = R"sql(
SELECT t.table_name FROM @ducklake_table t
  JOIN @ducklake_table_stats s ON s.table_id = t.table_id
  JOIN LATERAL (SELECT sum(f.record_count) AS rows, sum(f.file_size_bytes) AS bytes FROM @ducklake_data_file f
                 WHERE f.table_id = t.table_id AND f.end_snapshot IS NULL) f
    ON s.record_count < f.rows OR s.file_size_bytes < f.bytes
 WHERE t.end_snapshot IS NULL ORDER BY 1)sql";

// A flat name of several levels, where each level has a schema of its own (1.1).
constexpr auto kHidden = R"sql(
WITH RECURSIVE named (schema_id, name, depth) AS (
  SELECT schema_id, schema_name::text, 1 FROM @ducklake_schema WHERE end_snapshot IS NULL AND parent_schema_id IS NULL
  UNION ALL
  SELECT s.schema_id, n.name || E'\x1f' || s.schema_name, n.depth + 1
    FROM named n JOIN @ducklake_schema s ON s.parent_schema_id = n.schema_id AND s.end_snapshot IS NULL)
SELECT format('%s (schema_id %s)', replace(f.name, E'\x1f', '.'), f.schema_id) FROM named f
 WHERE EXISTS (SELECT 1 FROM named n WHERE n.name = f.name AND n.depth > f.depth) ORDER BY 1)sql";

std::vector<std::string> first_column(const Rows& rows) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < rows.size(); ++i) texts.emplace_back(rows.text(i, 0));
  return texts;
}

// One look: the statement's rows, and what is said of them.
struct Look {
  Query query;
  std::string before, after;
};

std::vector<Look> looks_at(const LakeOptions& options, model::LakeFormat format) {
  const SchemaSql sql(options.metadata_schema);
  const bool nested = format >= model::LakeFormat::k1_1;
  const std::string prefix = nested ? "_ducklake_" : "";
  std::vector<Look> looks;
  looks.push_back({{sql(kInlinedNames), {param(options.metadata_schema), param(prefix)}},
                   "inlined tables without the columns of this version: ",
                   "; DuckDB cannot read them"});
  looks.push_back({{sql(kTwice), {}}, "inlined tables registered twice: ", ""});
  looks.push_back({{sql(kReserved), {}},
                   "columns of names that DuckLake 1.1 reserves: ",
                   nested ? "; DuckDB cannot rename them" : "; rename them before a migration"});
  looks.push_back({{sql(kTotals), {}},
                   "tables that hold more than their totals say: ",
                   "; DuckDB 2.0 ends its process when it drops their files"});
  if (nested) {
    looks.push_back({{sql(kHidden), {}},
                     "schemas of a flat name that nested ones hide: ",
                     "; move their tables into the nested schema"});
  }
  return looks;
}

base::Error no_lake(const LakeOptions& options) {
  return fail(ErrorKind::kNotFound, "there is no lake in the schema " + options.metadata_schema);
}

Query find_lake(const std::string& schema) {
  return {{"SELECT to_regclass(quote_ident($1::text) || '.ducklake_metadata') IS NOT NULL"},
          {param(schema)}};
}

base::Status check_may_migrate(const Rows& facts, const Rows& sessions) {
  ASSIGN_OR_RETURN(const auto format, read_lake_format(facts.text(0, 0)));
  if (format >= model::LakeFormat::k1_1) {
    return fail(ErrorKind::kAlreadyExists, "the lake has DuckLake version 1.1 already");
  }
  if (!sessions.empty()) {
    return fail(ErrorKind::kConflict,
                fmt::format("other sessions are in the lake's database; stop all servers and "
                            "clients first: {}",
                            fmt::join(first_column(sessions), "; ")));
  }
  return {};
}

}  // namespace

std::string_view clients_of(model::LakeFormat format) {
  switch (format) {
    case model::LakeFormat::k0_4:
      return "DuckDB 1.5.0 and 1.5.1; a newer one only with AUTOMATIC_MIGRATION, which makes it "
             "1.0 or, from DuckDB 2.0 on, 1.1";
    case model::LakeFormat::k1_0: return "DuckDB 1.5.2 to 1.5.6, and DuckDB 2.0";
    case model::LakeFormat::k1_1: return "DuckDB 2.0";
  }
  return "none";
}

Task<Result<LakeInspection>> inspect_lake(RequestContext context, base::pg::Pool& pool,
                                          LakeOptions options) {
  const SchemaSql sql(options.metadata_schema);
  CO_ASSIGN_OR_RETURN(auto there, co_await pool.query(context, find_lake(options.metadata_schema)));
  if (!there->boolean(0, 0)) co_return no_lake(options);
  std::vector<Query> queries{
      {sql(kFacts), {}}, {{kSessions}, {}}, find_missing_parts(options.metadata_schema)};
  CO_ASSIGN_OR_RETURN(auto rows, co_await pool.read(context, std::move(queries)));
  LakeInspection found{.version = std::string(rows[0]->text(0, 0)),
                       .sessions = first_column(*rows[1])};
  if (rows[0]->text(0, 1) != "false") found.problems.emplace_back("the lake is encrypted");
  auto format = read_lake_format(found.version);
  if (!format) {
    found.problems.push_back(format.error().message());
    co_return found;
  }
  found.format = *format;
  if (*format >= model::LakeFormat::k1_1) {
    if (auto whole = check_parts(*rows[2]); !whole) {
      found.problems.push_back(whole.error().message());
      co_return found;
    }
  }
  std::vector<Look> looks = looks_at(options, *format);
  std::vector<Query> asked;
  for (const Look& look : looks) asked.push_back(look.query);
  CO_ASSIGN_OR_RETURN(auto answers, co_await pool.read(context, std::move(asked)));
  for (std::size_t i = 0; i < looks.size(); ++i) {
    if (answers[i]->empty()) continue;
    found.problems.push_back(fmt::format(
        "{}{}{}", looks[i].before, fmt::join(first_column(*answers[i]), ", "), looks[i].after));
  }
  co_return found;
}

Task<Result<void>> migrate_lake(RequestContext context, base::pg::Pool& pool, LakeOptions options) {
  const SchemaSql sql(options.metadata_schema);
  CO_ASSIGN_OR_RETURN(auto there, co_await pool.query(context, find_lake(options.metadata_schema)));
  if (!there->boolean(0, 0)) co_return no_lake(options);
  // DuckDB writes this table first in each of its commits: whoever comes from here on waits.
  std::vector<Query> first{{sql("LOCK TABLE @ducklake_snapshot IN SHARE ROW EXCLUSIVE MODE"), {}},
                           {sql(kFacts), {}},
                           {{kSessions}, {}}};
  CO_ASSIGN_OR_RETURN(auto begun, co_await pool.begin(context, std::move(first)));
  if (auto may = check_may_migrate(*begun.rows[1], *begun.rows[2]); !may) {
    co_await begun.transaction->rollback();
    co_return std::move(may).error();
  }
  std::string script = fmt::format("SET LOCAL search_path TO \"{}\";\n", options.metadata_schema);
  for (const base::embedded::Text& step : base::embedded::lake_upgrades()) script += step.text;
  auto done = co_await begun.transaction->script(std::move(script));
  if (!done && done.error().kind() == ErrorKind::kInternal) {
    co_return fail(ErrorKind::kConflict, "the lake is as it was; in the way is")
        .with_detail(done.error().detail());
  }
  CO_RETURN_IF_ERROR(done);
  CO_RETURN_IF_ERROR(co_await begun.transaction->run_and_commit({{sql(kFacts), {}}}));
  co_return Result<void>{};
}

Task<Result<void>> create_lake(RequestContext context, base::pg::Pool& pool, LakeOptions options) {
  CO_ASSIGN_OR_RETURN(auto there, co_await pool.query(context, find_lake(options.metadata_schema)));
  if (there->boolean(0, 0)) {
    co_return fail(ErrorKind::kAlreadyExists,
                   "there is a lake in the schema " + options.metadata_schema);
  }
  co_return co_await open_lake(context, pool, std::move(options));
}

}  // namespace lake::ducklake
