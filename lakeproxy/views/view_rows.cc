#include "lakeproxy/views/view_rows.h"

#include "base/core/text.h"
#include "base/json/json.h"
#include "lakeproxy/ducklake/lake/lake_path.h"
#include "lakeproxy/ducklake/lake/namespace_mapping.h"
#include "lakeproxy/ducklake/lake/path_names.h"
#include "lakeproxy/ducklake/lake/shown_time.h"
#include "lakeproxy/iceberg/view/view_json.h"
#include "lakeproxy/mapping/comments.h"

namespace lake::ducklake {
namespace {

using base::pg::param;
using base::pg::Query;
using base::pg::Rows;

// A snapshot that was removed is stood for by the next one that is kept.
constexpr auto kView = R"sql(
SELECT v.view_id, v.view_uuid, v.begin_snapshot, v.dialect, v.sql, v.column_aliases,
       s.path, s.path_is_relative,
       (SELECT @lakeproxy_lake_option('data_path')),
       (SELECT floor(extract(epoch FROM n.snapshot_time) * 1000)::bigint FROM @ducklake_snapshot n
         WHERE n.snapshot_id >= v.begin_snapshot ORDER BY n.snapshot_id LIMIT 1),
       (SELECT g.value FROM @ducklake_tag g WHERE g.object_id = v.view_id AND g.key = 'comment'
           AND g.end_snapshot IS NULL ORDER BY g.begin_snapshot DESC LIMIT 1),
       p.revision, p.metadata_location, p.document
  FROM @ducklake_view v JOIN @ducklake_schema s ON s.schema_id = v.schema_id
  LEFT JOIN @lakeproxy_view p ON p.view_id = v.view_id
 WHERE v.schema_id = (SELECT @lakeproxy_find_schema($1))
   AND v.view_name = $2 AND v.end_snapshot IS NULL)sql";

constexpr auto kVersions = R"sql(
SELECT r.version
  FROM @ducklake_view v JOIN @lakeproxy_view_version r ON r.view_id = v.view_id
 WHERE v.schema_id = (SELECT @lakeproxy_find_schema($1))
   AND v.view_name = $2 AND v.end_snapshot IS NULL
 ORDER BY r.version_id)sql";

enum Column : std::size_t {
  kId,
  kUuid,
  kBegin,
  kDialect,
  kSql,
  kAliases,
  kPath,
  kPathIsRelative,
  kDataPath,
  kMadeMs,
  kComment,
  kRevision,
  kMetadataLocation,
  kDocument
};

// Members that stand in rows of their own.
constexpr const char* kElsewhere[] = {"view-uuid", "format-version", "versions"};

base::Result<base::json::Value> whole_document(const Rows& view, const Rows& versions) {
  ASSIGN_OR_RETURN(auto document, base::json::parse(view.text(0, kDocument)));
  base::json::Array array;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    ASSIGN_OR_RETURN(auto version, base::json::parse(versions.text(i, 0)));
    array.push_back(std::move(version));
  }
  if (!document.is_object()) return base::fail(base::ErrorKind::kInvalid, "not an object");
  document.as_object()["view-uuid"] = std::string(view.text(0, kUuid));
  document.as_object()["format-version"] = model::kViewFormatVersion;
  document.as_object()["versions"] = std::move(array);
  return document;
}

base::Result<model::ViewMetadata> kept_metadata(const Rows& view, const Rows& versions) {
  auto document = whole_document(view, versions);
  if (!document) return std::move(document).error();
  return model::view_metadata_from_json(*document);
}

// Names without types: "unknown" is what Iceberg calls a type that is not known.
model::Schema shown_columns(std::string_view aliases) {
  model::Schema schema;
  const auto names = parse_quoted_list(aliases);
  if (!names) return schema;
  for (const std::string& name : *names) {
    model::Field field;
    field.id = static_cast<model::FieldId>(schema.fields.size() + 1);
    field.name = name;
    field.type = model::Type(model::TypeKind::kUnknown);
    schema.fields.push_back(std::move(field));
  }
  return schema;
}

model::ViewMetadata duckdbs_metadata(const model::TableIdentifier& identifier,
                                     const LakeOptions& options, const Rows& rows) {
  model::ViewMetadata view;
  const std::string uuid(rows.text(0, kUuid));
  view.view_uuid = base::parse_uuid(uuid).value_or(base::Uuid{});
  const std::string folder =
      resolve_path(rows.text(0, kDataPath),
                   {rows.text(0, kPath), rows.opt_boolean(0, kPathIsRelative).value_or(true)});
  // Not by its name: a view that is renamed stays where it is.
  view.location = folder + unique_path_name("view", uuid);
  view.schemas.push_back(shown_columns(rows.text(0, kAliases)));
  model::ViewVersion version;
  version.timestamp_ms = rows.opt_int64(0, kMadeMs).value_or(kShownEarlierMs) - kShownEarlierMs;
  version.representations.push_back(
      {with_catalog(rows.text(0, kSql), options.catalog), std::string(rows.text(0, kDialect))});
  version.default_catalog = options.catalog;
  version.default_namespace = identifier.name_space.levels;
  view.current_version_id = version.version_id;
  view.version_log.push_back({version.timestamp_ms, version.version_id});
  view.versions.push_back(std::move(version));
  return view;
}

}  // namespace

std::vector<Query> load_view(const SchemaSql& sql, const model::TableIdentifier& identifier) {
  const std::vector<base::pg::Param> names{param(flat_schema_name(identifier.name_space)),
                                           param(identifier.name)};
  return {{sql(kView), names}, {sql(kVersions), names}};
}

base::Result<LakeView> read_view(const model::TableIdentifier& identifier,
                                 const LakeOptions& options,
                                 const std::vector<base::pg::RowsPtr>& rows) {
  const Rows& row = *rows[0];
  LakeView view;
  view.view_id = row.int64(0, kId);
  view.begin_snapshot = row.int64(0, kBegin);
  view.revision = row.opt_int64(0, kRevision).value_or(0);
  view.metadata_location = row.text(0, kMetadataLocation);
  if (row.is_null(0, kRevision)) {
    view.columns_known = false;
    view.metadata = duckdbs_metadata(identifier, options, row);
  } else {
    auto kept = kept_metadata(row, *rows[1]);
    if (!kept) {
      return base::fail(base::ErrorKind::kCorrupt, "a view's sidecar breaks its form")
          .with_detail(identifier.display() + ": " + kept.error().message());
    }
    view.metadata = std::move(*kept);
  }
  if (auto comment = row.opt_text(0, kComment)) {
    view.metadata.properties[std::string(kCommentProperty)] = std::move(*comment);
  }
  return view;
}

Query insert_view(const SchemaSql& sql, ViewPlace place, std::int64_t schema_id,
                  const std::string& name, const model::ViewMetadata& view) {
  const LakeViewQuery query = lake_query(view);
  return {sql("INSERT INTO @ducklake_view (view_id, view_uuid, begin_snapshot, end_snapshot, "
              "schema_id, view_name, dialect, sql, column_aliases) VALUES ($1, $2::uuid, $3, NULL, "
              "$4, $5, $6, $7, $8)"),
          {param(place.view_id), param(base::to_string(view.view_uuid)), param(place.begin),
           param(schema_id), param(name), param(query.dialect), param(query.sql),
           param(query.column_aliases)}};
}

Query follow_view(const SchemaSql& sql, ViewPlace place, const LakeViewQuery& query) {
  return {sql("INSERT INTO @ducklake_view (view_id, view_uuid, begin_snapshot, end_snapshot, "
              "schema_id, view_name, dialect, sql, column_aliases) SELECT view_id, view_uuid, $2, "
              "NULL, schema_id, view_name, $3, $4, $5 FROM @ducklake_view WHERE view_id = $1 AND "
              "end_snapshot IS NULL"),
          {param(place.view_id), param(place.begin), param(query.dialect), param(query.sql),
           param(query.column_aliases)}};
}

Query move_view(const SchemaSql& sql, ViewPlace place, std::int64_t schema_id,
                const std::string& name) {
  return {sql("INSERT INTO @ducklake_view (view_id, view_uuid, begin_snapshot, end_snapshot, "
              "schema_id, view_name, dialect, sql, column_aliases) SELECT view_id, view_uuid, $2, "
              "NULL, $3, $4, dialect, sql, column_aliases FROM @ducklake_view WHERE view_id = $1 "
              "AND end_snapshot IS NULL"),
          {param(place.view_id), param(place.begin), param(schema_id), param(name)}};
}

Query end_view(const SchemaSql& sql, ViewPlace place) {
  return {sql("UPDATE @ducklake_view SET end_snapshot = $2 WHERE view_id = $1 AND end_snapshot IS "
              "NULL AND begin_snapshot < $2"),
          {param(place.view_id), param(place.begin)}};
}

void end_column_tags(const SchemaSql& sql, ViewPlace place, model::LakeFormat format,
                     std::vector<Query>& out) {
  if (format < model::LakeFormat::k1_1) return;
  out.push_back(
      {sql("UPDATE @ducklake_view_column_tag SET end_snapshot = $2 WHERE view_id = $1 AND "
           "end_snapshot IS NULL"),
       {param(place.view_id), param(place.begin)}});
}

void put_view(const SchemaSql& sql, std::int64_t view_id, std::int64_t revision,
              const model::ViewMetadata& view, const std::string& metadata_location,
              std::vector<Query>& out) {
  model::ViewMetadata kept = view;
  kept.properties.erase(std::string(kCommentProperty));
  base::json::Value document = model::to_json(kept);
  for (const char* member : kElsewhere) document.as_object().erase(member);
  out.push_back({sql("INSERT INTO @lakeproxy_view (view_id, revision, metadata_location, document) "
                     "VALUES ($1, $2, $3, $4::json) ON CONFLICT (view_id) DO UPDATE SET revision = "
                     "excluded.revision, metadata_location = excluded.metadata_location, document "
                     "= excluded.document"),
                 {param(view_id), param(revision), param(metadata_location),
                  param(base::json::write(document))}});
  std::vector<std::int64_t> ids;
  std::vector<std::optional<std::string>> versions;
  for (const model::ViewVersion& version : view.versions) {
    ids.push_back(version.version_id);
    versions.emplace_back(base::json::write(model::to_json(version)));
  }
  out.push_back({sql("DELETE FROM @lakeproxy_view_version WHERE view_id = $1 AND version_id <> ALL "
                     "($2::bigint[])"),
                 {param(view_id), base::pg::array_param(ids)}});
  out.push_back({sql("INSERT INTO @lakeproxy_view_version (view_id, version_id, version) SELECT "
                     "$1, v.id, v.version::json FROM unnest($2::bigint[], $3::text[]) AS v(id, "
                     "version) ON CONFLICT (view_id, version_id) DO NOTHING"),
                 {param(view_id), base::pg::array_param(ids), base::pg::array_param(versions)}});
}

}  // namespace lake::ducklake
