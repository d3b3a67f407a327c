#include "lakeproxy/ducklake/maintenance/upkeep.h"

#include <fmt/format.h>

#include "lakeproxy/ducklake/lake/namespace_mapping.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::pg::param;
using base::pg::Query;

constexpr std::int64_t kListsAtOnce = 1000;

base::pg::Param objects_param(std::vector<std::string> objects) {
  std::vector<std::optional<std::string>> values;
  values.reserve(objects.size());
  for (auto& object : objects) values.emplace_back(std::move(object));
  return base::pg::array_param(values);
}

base::pg::Param micros(base::WallTime time) { return param(time.time_since_epoch().count()); }

std::vector<std::string> first_column(const base::pg::Rows& rows) {
  std::vector<std::string> texts;
  texts.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) texts.emplace_back(rows.text(i, 0));
  return texts;
}

// A time in microseconds since 1970 as PostgreSQL's.
constexpr auto kFromMicros = "'epoch'::timestamptz + $1::bigint * interval '1 microsecond'";

}  // namespace

LakeUpkeep::LakeUpkeep(base::pg::Pool& pool, LakeOptions options)
    : pool_(&pool), options_(std::move(options)), sql_(options_.metadata_schema) {}

base::Task<base::Result<std::vector<std::string>>> LakeUpkeep::texts(base::RequestContext context,
                                                                     Query query) {
  CO_ASSIGN_OR_RETURN(auto rows, co_await pool_->query(context, std::move(query)));
  co_return first_column(*rows);
}

base::Task<base::Status> LakeUpkeep::check_opened(base::RequestContext context) {
  auto rows = co_await pool_->query(
      context, {sql_("SELECT value, (SELECT count(*) FROM @lakeproxy_purge) FROM "
                     "@ducklake_metadata WHERE key = 'data_path' AND coalesce(scope, 'global') = "
                     "'global'"),
                {}});
  bool absent = !rows && rows.error().reason() == base::pg::kUndefinedTable;
  if (!rows && !absent) co_return std::move(rows).error();
  if (absent || (*rows)->empty()) {
    co_return base::fail(ErrorKind::kNotFound,
                         fmt::format("there is no lake in the schema {} that this release of the "
                                     "server has opened",
                                     options_.metadata_schema));
  }
  if ((*rows)->text(0, 0) != options_.data_path) {
    co_return base::fail(ErrorKind::kConflict,
                         fmt::format("the lake's data path is {}, the settings say {}",
                                     (*rows)->text(0, 0), options_.data_path));
  }
  co_return base::Status{};
}

base::Task<base::Result<LakeIdentity>> LakeUpkeep::identity(base::RequestContext context) {
  auto rows = co_await pool_->query(
      context, {sql_("SELECT lake_id, system_identifier, timeline, database_number, owner_written "
                     "FROM @lakeproxy_identity()"),
                {}});
  if (!rows && rows.error().kind() == ErrorKind::kInternal) {
    co_return base::fail(ErrorKind::kUnsupported,
                         "PostgreSQL does not say which server it is: the role must be allowed to "
                         "call pg_control_system and pg_walfile_name, on a server that is no "
                         "standby")
        .with_detail(std::string(rows.error().detail()));
  }
  if (!rows) co_return std::move(rows).error();
  co_return LakeIdentity{.lake_id = std::string((*rows)->text(0, 0)),
                         .system_identifier = std::string((*rows)->text(0, 1)),
                         .timeline = (*rows)->int64(0, 2),
                         .database_number = (*rows)->int64(0, 3),
                         .metadata_schema = options_.metadata_schema,
                         .owner_written = (*rows)->boolean(0, 4)};
}

base::Task<base::Status> LakeUpkeep::note_owner(base::RequestContext context, Ownership how) {
  const char* since = how == Ownership::kTakenOver ? "clock_timestamp()" : "owner_since";
  CO_RETURN_IF_ERROR(co_await pool_->query(
      context, {sql_(fmt::format("UPDATE @lakeproxy_state SET owner_written = true, owner_since = "
                                 "{}",
                                 since)),
                {}}));
  co_return base::Status{};
}

base::Task<base::Result<base::WallTime>> LakeUpkeep::newest_change(base::RequestContext context) {
  CO_ASSIGN_OR_RETURN(auto rows,
                      co_await pool_->query(context, {sql_("SELECT floor(extract(epoch FROM "
                                                           "@lakeproxy_newest_change()) * "
                                                           "1000000)::bigint"),
                                                      {}}));
  co_return base::WallTime(std::chrono::microseconds(rows->int64(0, 0)));
}

base::Task<base::Result<std::vector<Purge>>> LakeUpkeep::purges(
    base::RequestContext context, std::optional<model::TableIdentifier> of) {
  Query query{sql_("SELECT table_id, folder, floor(extract(epoch FROM dropped_at) * "
                   "1000000)::bigint FROM @lakeproxy_purge WHERE $1::text IS NULL OR (schema_name "
                   "= $1 AND table_name = $2) ORDER BY table_id"),
              {std::nullopt, std::nullopt}};
  if (of) query.params = {param(flat_schema_name(of->name_space)), param(of->name)};
  CO_ASSIGN_OR_RETURN(auto rows, co_await pool_->query(context, std::move(query)));
  std::vector<Purge> purges;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    purges.push_back({model::TableId(rows->int64(i, 0)), std::string(rows->text(i, 1)),
                      base::WallTime(std::chrono::microseconds(rows->int64(i, 2)))});
  }
  co_return purges;
}

base::Task<base::Result<PurgeBounds>> LakeUpkeep::purge_bounds(base::RequestContext context,
                                                               Purge purge,
                                                               std::vector<std::string> objects) {
  std::vector<Query> queries{
      {sql_("SELECT @lakeproxy_folder_is_shared($1, $2)"),
       {param(purge.table.value), param(purge.folder)}},
      {sql_("SELECT * FROM @lakeproxy_needed_by_others($1, $2, $3::text[])"),
       {param(purge.table.value), param(purge.folder), objects_param(std::move(objects))}}};
  CO_ASSIGN_OR_RETURN(auto rows, co_await pool_->read(context, std::move(queries)));
  PurgeBounds bounds;
  bounds.shared = rows[0]->boolean(0, 0);
  for (auto& object : first_column(*rows[1])) bounds.needed.insert(std::move(object));
  co_return bounds;
}

base::Task<base::Result<std::vector<std::string>>> LakeUpkeep::other_folders(
    base::RequestContext context, std::optional<model::TableId> table, std::string folder) {
  const std::optional<std::int64_t> id = table ? std::optional(table->value) : std::nullopt;
  return texts(context, {sql_("SELECT * FROM @lakeproxy_other_folders($1, $2)"),
                         {param(id), param(std::move(folder))}});
}

base::Task<base::Result<std::vector<std::string>>> LakeUpkeep::masked_folders(
    base::RequestContext context, std::optional<model::TableId> table, std::string subject,
    std::vector<std::string> roles) {
  const std::optional<std::int64_t> id = table ? std::optional(table->value) : std::nullopt;
  return texts(context,
               {sql_("SELECT DISTINCT f.folder FROM @lakeproxy_folders() f WHERE f.table_id IN "
                     "(SELECT @lakeproxy_file_masked($2, $3::text[])) AND f.table_id IS DISTINCT "
                     "FROM $1::bigint"),
                {param(id), param(std::move(subject)), objects_param(std::move(roles))}});
}

base::Task<base::Result<bool>> LakeUpkeep::is_file_masked(base::RequestContext context,
                                                          model::TableId table, std::string subject,
                                                          std::vector<std::string> roles) {
  CO_ASSIGN_OR_RETURN(
      auto rows, co_await pool_->query(
                     context, {sql_("SELECT $1 IN (SELECT @lakeproxy_file_masked($2, $3::text[]))"),
                               {param(table.value), param(std::move(subject)),
                                objects_param(std::move(roles))}}));
  co_return rows->boolean(0, 0);
}

base::Task<base::Result<std::set<std::string>>> LakeUpkeep::recorded(
    base::RequestContext context, std::vector<std::string> objects) {
  CO_ASSIGN_OR_RETURN(
      auto found, co_await texts(context, {sql_("SELECT * FROM @lakeproxy_is_recorded($1::text[])"),
                                           {objects_param(std::move(objects))}}));
  co_return std::set<std::string>(found.begin(), found.end());
}

base::Task<base::Result<std::optional<model::TableIdentifier>>> LakeUpkeep::table_of(
    base::RequestContext context, std::string object) {
  CO_ASSIGN_OR_RETURN(
      auto rows,
      co_await pool_->query(
          context, {sql_("SELECT flat_name, table_name FROM @lakeproxy_table_of_object($1)"),
                    {param(std::move(object))}}));
  if (rows->size() != 1) co_return std::nullopt;
  auto name_space = namespace_of_schema(rows->text(0, 0));
  if (!name_space) co_return std::nullopt;
  co_return model::TableIdentifier{std::move(*name_space), std::string(rows->text(0, 1))};
}

base::Task<base::Status> LakeUpkeep::end_purge(base::RequestContext context, model::TableId table) {
  std::vector<Query> queries;
  for (const char* text : {"DELETE FROM @lakeproxy_purge WHERE table_id = $1",
                           "DELETE FROM @lakeproxy_metadata_log WHERE table_id = $1",
                           "DELETE FROM @lakeproxy_snapshot WHERE table_id = $1"}) {
    queries.push_back({sql_(text), {param(table.value)}});
  }
  CO_ASSIGN_OR_RETURN(auto begun, co_await pool_->begin(context, {}));
  CO_RETURN_IF_ERROR(co_await begun.transaction->run_and_commit(std::move(queries)));
  co_return base::Status{};
}

base::Task<base::Result<std::set<std::string>>> LakeUpkeep::named(
    base::RequestContext context, std::vector<std::string> objects) {
  CO_ASSIGN_OR_RETURN(auto found, co_await texts(context, {sql_("SELECT * FROM @lakeproxy_named("
                                                                "$1::text[], NULL) UNION SELECT * "
                                                                "FROM @lakeproxy_scheduled($1::"
                                                                "text[])"),
                                                           {objects_param(std::move(objects))}}));
  co_return std::set<std::string>(found.begin(), found.end());
}

base::Task<base::Result<std::vector<std::string>>> LakeUpkeep::manifest_lists(
    base::RequestContext context, ListMark* after) {
  Query query{sql_("SELECT snapshot_json->>'manifest-list', table_id, snapshot_id FROM "
                   "@lakeproxy_snapshot WHERE (table_id, snapshot_id) > ($1, $2) AND "
                   "snapshot_json->>'manifest-list' IS NOT NULL ORDER BY table_id, snapshot_id "
                   "LIMIT $3"),
              {param(after->table), param(after->snapshot), param(kListsAtOnce)}};
  CO_ASSIGN_OR_RETURN(auto rows, co_await pool_->query(context, std::move(query)));
  if (!rows->empty()) {
    *after = {rows->int64(rows->size() - 1, 1), rows->int64(rows->size() - 1, 2)};
  }
  co_return first_column(*rows);
}

base::Task<base::Result<std::vector<std::string>>> LakeUpkeep::lists_superseded(
    base::RequestContext context, base::WallTime since) {
  co_return co_await texts(context,
                           {sql_(fmt::format("SELECT DISTINCT manifest_list FROM "
                                             "@lakeproxy_superseded WHERE superseded_at > {}",
                                             kFromMicros)),
                            {micros(since)}});
}

base::Task<base::Result<std::vector<std::string>>> LakeUpkeep::lists_recorded(
    base::RequestContext context, base::WallTime since) {
  co_return co_await texts(
      context, {sql_(fmt::format("SELECT snapshot_json->>'manifest-list' FROM @lakeproxy_snapshot "
                                 "WHERE recorded_at > {} AND snapshot_json->>'manifest-list' IS "
                                 "NOT NULL",
                                 kFromMicros)),
                {micros(since)}});
}

base::Task<base::Status> LakeUpkeep::forget_expired(base::RequestContext context,
                                                    base::WallTime before) {
  // The newest record of a table stays: it says in which format version the
  // table is shown.
  std::vector<Query> queries{
      {sql_("DELETE FROM @lakeproxy_snapshot p WHERE NOT EXISTS (SELECT 1 FROM @ducklake_table t "
            "WHERE t.table_id = p.table_id) OR (NOT EXISTS (SELECT 1 FROM @ducklake_snapshot s "
            "WHERE s.snapshot_id = p.snapshot_id) AND EXISTS (SELECT 1 FROM @lakeproxy_snapshot n "
            "WHERE n.table_id = p.table_id AND n.snapshot_id > p.snapshot_id))"),
       {}},
      {sql_(
           fmt::format("DELETE FROM @lakeproxy_superseded WHERE superseded_at <= {}", kFromMicros)),
       {micros(before)}},
      {sql_(fmt::format("DELETE FROM @lakeproxy_readable_copy c WHERE made_at <= {} AND NOT EXISTS "
                        "(SELECT 1 FROM @lakeproxy_used_copies() u WHERE u.data_file_id = "
                        "c.data_file_id AND u.signature = c.signature)",
                        kFromMicros)),
       {micros(before)}}};
  CO_ASSIGN_OR_RETURN(auto begun, co_await pool_->begin(context, {}));
  CO_RETURN_IF_ERROR(co_await begun.transaction->run_and_commit(std::move(queries)));
  co_return base::Status{};
}

// A use that is noted meanwhile counts: the time of the row itself is asked once more when it is
// locked. Copies that no state ever came of go by their own age.
base::Task<base::Status> LakeUpkeep::forget_unused_masks(base::RequestContext context,
                                                         std::chrono::seconds idle) {
  CO_RETURN_IF_ERROR(co_await pool_->query(context, {sql_(R"sql(
WITH since AS (
  SELECT clock_timestamp() - make_interval(secs => $1) AS moment
), gone AS (
  DELETE FROM @lakeproxy_masked_state s
   WHERE s.used_at < (SELECT moment FROM since)
     AND NOT EXISTS (SELECT 1 FROM @lakeproxy_masked_state n WHERE n.table_id = s.table_id
                        AND n.signature = s.signature AND n.used_at >= (SELECT moment FROM since))
  RETURNING s.table_id, s.signature
)
DELETE FROM @lakeproxy_masked_copy c
 WHERE EXISTS (SELECT 1 FROM gone g WHERE g.table_id = c.table_id AND g.signature = c.signature)
    OR (c.made_at < (SELECT moment FROM since)
        AND NOT EXISTS (SELECT 1 FROM @lakeproxy_masked_state n
                         WHERE n.table_id = c.table_id AND n.signature = c.signature)))sql"),
                                                     {param(idle.count())}}));
  co_return base::Status{};
}

Query insert_purge(const SchemaSql& sql, std::int64_t table,
                   const model::TableIdentifier& identifier, const std::string& folder) {
  return {sql("INSERT INTO @lakeproxy_purge (table_id, schema_name, table_name, folder) VALUES "
              "($1, $2, $3, $4) ON CONFLICT (table_id) DO NOTHING"),
          {param(table), param(flat_schema_name(identifier.name_space)), param(identifier.name),
           param(folder)}};
}

}  // namespace lake::ducklake
