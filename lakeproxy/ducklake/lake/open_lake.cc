#include "lakeproxy/ducklake/lake/open_lake.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/embedded_text.h"
#include "base/core/text.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"

namespace base::embedded {
std::span<const Text> lake_migrations();
std::span<const Text> lake_schema();
std::span<const Text> lake_tables();
std::span<const Text> lake_upgrades();
}  // namespace base::embedded

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::fail;
using base::RequestContext;
using base::Result;
using base::Status;
using base::Task;
using base::pg::param;
using base::pg::Query;

struct Format {
  std::string_view text;
  model::LakeFormat format;
};
constexpr Format kFormats[] = {{"0.4", model::LakeFormat::k0_4},
                               {"1.0", model::LakeFormat::k1_0},
                               {"1.1", model::LakeFormat::k1_1}};

// What 1.1 adds to 1.0.
constexpr const char* kPartsOf1_1[] = {
    "ducklake_data_file.row_group_count",       "ducklake_delete_file.row_group_count",
    "ducklake_file_column_stats.min_is_exact",  "ducklake_file_column_stats.max_is_exact",
    "ducklake_table_column_stats.min_is_exact", "ducklake_table_column_stats.max_is_exact",
    "ducklake_schema.parent_schema_id",         "ducklake_view_column_tag.view_id"};

constexpr std::size_t kMaxIdentifier = 63;
constexpr int kMaxAttempts = 5;

bool is_identifier(std::string_view name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  return !name.empty() && name.size() <= kMaxIdentifier && letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

Status check_options(const LakeOptions& options) {
  if (!is_identifier(options.metadata_schema)) {
    return fail(ErrorKind::kInvalid,
                "metadata schema: must be 1 to 63 lower-case letters, digits and '_', and not "
                "begin with a digit");
  }
  if (!options.data_path.ends_with('/')) {
    return fail(ErrorKind::kInvalid, "data path: must end in '/'");
  }
  return {};
}

// One opener at a time, of all processes; held to the end of the transaction.
Query lock(const std::string& schema) {
  return {{"SELECT pg_advisory_xact_lock(hashtextextended('lakeproxy.open.' || $1::text, 0))"},
          {param(schema)}};
}

Query find_lake(const std::string& schema) {
  return {{"SELECT to_regclass(quote_ident($1::text) || '.ducklake_metadata') IS NOT NULL, "
           "EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1)"},
          {param(schema)}};
}

std::string make_tables_script(const std::string& schema, bool schema_exists,
                               model::LakeFormat format) {
  std::string script;
  if (!schema_exists) script += fmt::format("CREATE SCHEMA \"{}\";\n", schema);
  script += fmt::format("SET LOCAL search_path TO \"{}\";\n", schema);
  for (const base::embedded::Text& tables : base::embedded::lake_tables()) script += tables.text;
  if (format < model::LakeFormat::k1_1) return script;
  for (const base::embedded::Text& step : base::embedded::lake_upgrades()) script += step.text;
  return script;
}

std::vector<Query> initial_rows(const SchemaSql& sql, const LakeOptions& options) {
  std::vector<Query> queries;
  queries.push_back({sql("INSERT INTO @ducklake_snapshot VALUES (0, now(), 0, 1, 0)"), {}});
  queries.push_back({sql("INSERT INTO @ducklake_snapshot_changes VALUES (0, $1, NULL, NULL, NULL)"),
                     {param("created_schema:\"main\"")}});
  queries.push_back({sql("INSERT INTO @ducklake_metadata (key, value) VALUES ('version', $2), "
                         "('created_by', 'lakeproxy'), ('data_path', $1), ('encrypted', 'false')"),
                     {param(options.data_path), param(std::string(to_text(options.new_format)))}});
  queries.push_back({sql("INSERT INTO @ducklake_schema VALUES (0, gen_random_uuid(), 0, NULL, "
                         "'main', 'main/', true)"),
                     {}});
  return queries;
}

Status check_lake(const base::pg::Rows& rows, const base::pg::Rows& missing,
                  const LakeOptions& options) {
  auto value = [&](std::string_view key) -> std::string_view {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows.text(i, 0) == key) return rows.text(i, 1);
    }
    return {};
  };
  const std::string where = "schema " + options.metadata_schema;
  auto format = read_lake_format(value("version"));
  if (!format) return std::move(format).error().with_context(where);
  if (*format >= model::LakeFormat::k1_1) {
    if (Status whole = check_parts(missing); !whole) {
      return std::move(whole).error().with_context(where);
    }
  }
  if (value("encrypted") != "false") {
    return fail(ErrorKind::kUnsupported,
                fmt::format("the lake in schema {} is encrypted", options.metadata_schema));
  }
  if (value("data_path") != options.data_path) {
    return fail(ErrorKind::kConflict,
                fmt::format("the lake in schema {} has the data path '{}', not '{}'",
                            options.metadata_schema, value("data_path"), options.data_path));
  }
  return {};
}

// Leaves a lake of a known version behind, or says why not.
Task<Status> make_or_check(RequestContext context, base::pg::Pool* pool, LakeOptions options) {
  const SchemaSql sql(options.metadata_schema);
  std::vector<Query> first;
  first.push_back(lock(options.metadata_schema));
  first.push_back(find_lake(options.metadata_schema));
  CO_ASSIGN_OR_RETURN(auto begun, co_await pool->begin(context, std::move(first)));
  if (begun.rows[1]->boolean(0, 0)) {
    std::vector<Query> read;
    read.push_back({sql("SELECT key, value FROM @ducklake_metadata WHERE coalesce(scope, "
                        "'global') = 'global'"),
                    {}});
    read.push_back(find_missing_parts(options.metadata_schema));
    CO_ASSIGN_OR_RETURN(auto rows, co_await begun.transaction->run(std::move(read)));
    co_await begun.transaction->rollback();
    co_return check_lake(*rows[0], *rows[1], options);
  }
  std::string script =
      make_tables_script(options.metadata_schema, begun.rows[1]->boolean(0, 1), options.new_format);
  CO_RETURN_IF_ERROR(co_await begun.transaction->script(std::move(script)));
  std::vector<Query> rows = initial_rows(sql, options);
  CO_RETURN_IF_ERROR(co_await begun.transaction->run_and_commit(std::move(rows)));
  co_return Status{};
}

// DuckDB does not know our lock: it may make the same lake at the same time.
bool someone_else_made_it(const base::Error& error) {
  return error.reason() == base::pg::kDuplicateObject ||
         error.reason() == base::pg::kUniqueViolation;
}

constexpr std::string_view kIndex = "\nCREATE INDEX IF NOT EXISTS ";
constexpr std::string_view kOurs = "lakeproxy_";

// Names of our functions stand without their schema: only a migration sets a search path.
std::string qualified(const std::string& schema, std::string_view text) {
  std::string sql(text);
  const std::string name = fmt::format("\"{}\".{}", schema, kOurs);
  for (std::size_t at = 0; (at = sql.find(kOurs, at)) != std::string::npos; at += name.size()) {
    sql.replace(at, kOurs.size(), name);
  }
  return sql;
}

// `statement`: "name ON table (columns) WHERE condition".
base::pg::MigrationIndex index_of(const std::string& schema, std::string_view statement) {
  constexpr std::string_view kOn = " ON ";
  const std::size_t on = statement.find(kOn);
  base::pg::MigrationIndex index{.schema = schema, .name = std::string(statement.substr(0, on))};
  statement.remove_prefix(on + kOn.size());
  const std::size_t table = statement.find(' ');
  index.table = statement.substr(0, table);
  index.rest = qualified(schema, statement.substr(table + 1));
  return index;
}

// Those that can be built before: each is a statement that begins a line and ends with ';'.
std::vector<base::pg::MigrationIndex> indexes_of(const std::string& schema, std::string_view text) {
  std::vector<base::pg::MigrationIndex> indexes;
  for (std::size_t at = 0; (at = text.find(kIndex, at)) != std::string_view::npos; ++at) {
    const std::string_view statement = text.substr(at + kIndex.size());
    indexes.push_back(index_of(schema, statement.substr(0, statement.find(';'))));
  }
  return indexes;
}

// The functions of a migration keep the search path that they are made under. Temporary tables,
// which anybody may make, would come first if they were not named: a function with its owner's
// rights would believe them.
base::pg::Migration migration_of(const std::string& schema, int version, std::string_view text) {
  return {.version = version,
          .sql = fmt::format("SET LOCAL search_path TO \"{}\", pg_temp;\n{}", schema, text),
          .indexes = indexes_of(schema, text)};
}

// The released schema. Its first file holds the functions that indexes use; they may be there
// already when it runs.
base::pg::Migration first_migration(const std::string& schema) {
  const std::span<const base::embedded::Text> files = base::embedded::lake_schema();
  std::string text;
  for (const base::embedded::Text& file : files) text += file.text;
  base::pg::Migration migration = migration_of(schema, 1, text);
  for (base::pg::MigrationIndex& index : migration.indexes) {
    if (index.rest.contains(kOurs)) index.needs = qualified(schema, files.front().text);
  }
  return migration;
}

std::vector<base::pg::Migration> migrations(const std::string& schema) {
  std::vector<base::pg::Migration> list{first_migration(schema)};
  for (const base::embedded::Text& file : base::embedded::lake_migrations()) {
    auto version = base::parse_int64(file.name.substr(0, file.name.find('_')));
    list.push_back(migration_of(schema, static_cast<int>(version.value()), file.text));
  }
  return list;
}

}  // namespace

Result<model::LakeFormat> read_lake_format(std::string_view version) {
  for (const auto& [text, format] : kFormats) {
    if (version == text) return format;
  }
  const std::string_view shown = version.substr(0, 20);
  if (version.starts_with("1.1-")) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("the lake has DuckLake version '{}', of a build before the release of "
                            "1.1; attach it once with DuckDB 2.0, which makes it 1.1",
                            shown));
  }
  return fail(
      ErrorKind::kUnsupported,
      fmt::format("the lake has DuckLake version '{}'; 0.4, 1.0 and 1.1 are understood", shown));
}

std::string_view to_text(model::LakeFormat format) {
  return std::ranges::find(kFormats, format, &Format::format)->text;
}

Query find_missing_parts(const std::string& metadata_schema) {
  return {{"SELECT p.part FROM unnest($2::text[]) AS p(part) WHERE NOT EXISTS (SELECT 1 FROM "
           "pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN "
           "pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND "
           "c.relname || '.' || a.attname = p.part AND NOT a.attisdropped)"},
          {param(metadata_schema), base::pg::array_param(std::vector<std::optional<std::string>>(
                                       std::begin(kPartsOf1_1), std::end(kPartsOf1_1)))}};
}

Status check_parts(const base::pg::Rows& missing) {
  if (missing.empty()) return {};
  std::string names;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    names += (i > 0 ? ", " : "") + std::string(missing.text(i, 0));
  }
  return fail(ErrorKind::kCorrupt,
              fmt::format("the lake says that it has DuckLake version 1.1, and lacks {}", names));
}

Task<Result<void>> open_lake(RequestContext context, base::pg::Pool& pool, LakeOptions options,
                             base::pg::MigrationWatch watch) {
  CO_RETURN_IF_ERROR(check_options(options));
  for (int attempt = 1;; ++attempt) {
    Status made = co_await make_or_check(context, &pool, options);
    if (made) break;
    if (attempt == kMaxAttempts || !someone_else_made_it(made.error())) co_return made;
  }
  co_return co_await base::pg::migrate(pool, context,
                                       options.metadata_schema + ".lakeproxy_migrations",
                                       migrations(options.metadata_schema), std::move(watch));
}

}  // namespace lake::ducklake
