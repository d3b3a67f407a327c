#include "lakeproxy/iceberg/view/view_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/core/text.h"
#include "lakeproxy/iceberg/schema/given_id.h"
#include "lakeproxy/iceberg/schema/schema_json.h"

namespace lake::model {
namespace {

using base::ErrorKind;
using base::fail;
using base::json::Array;
using base::json::Fields;
using base::json::Object;
using base::json::Value;

constexpr std::size_t kMaxDialect = 64;
constexpr std::size_t kMaxNameLevels = 16;

Value strings_json(const std::map<std::string, std::string>& strings) {
  Object out;
  for (const auto& [key, value] : strings) out[key] = value;
  return out;
}

base::Result<SqlRepresentation> representation_from_json(const Fields& json) {
  ASSIGN_OR_RETURN(const auto type, json.string("type"));
  if (type != "sql") return fail(ErrorKind::kInvalid, json.path_of("type") + ": must be sql");
  SqlRepresentation out;
  ASSIGN_OR_RETURN(out.sql, json.string("sql"));
  if (out.sql.empty() || out.sql.size() > kMaxViewSql || out.sql.find('\0') != std::string::npos) {
    return fail(ErrorKind::kInvalid, fmt::format("{}: must have 1 to {} bytes, none of them zero",
                                                 json.path_of("sql"), kMaxViewSql));
  }
  ASSIGN_OR_RETURN(out.dialect, json.string("dialect"));
  if (out.dialect.empty() || out.dialect.size() > kMaxDialect ||
      out.dialect.find('\0') != std::string::npos) {
    return fail(ErrorKind::kInvalid, fmt::format("{}: must have 1 to {} bytes, none of them zero",
                                                 json.path_of("dialect"), kMaxDialect));
  }
  return out;
}

base::Status read_representations(const Fields& json, ViewVersion& version) {
  ASSIGN_OR_RETURN(const auto objects, json.objects("representations"));
  if (objects.empty() || objects.size() > kMaxViewRepresentations) {
    return fail(ErrorKind::kInvalid,
                fmt::format("{}: must have 1 to {} members", json.path_of("representations"),
                            kMaxViewRepresentations));
  }
  for (const Fields& object : objects) {
    ASSIGN_OR_RETURN(auto representation, representation_from_json(object));
    version.representations.push_back(std::move(representation));
  }
  return {};
}

base::Result<ViewLogEntry> log_entry_from_json(const Fields& json) {
  ViewLogEntry entry;
  ASSIGN_OR_RETURN(entry.timestamp_ms, json.int64("timestamp-ms"));
  ASSIGN_OR_RETURN(entry.version_id, json.int32("version-id"));
  return entry;
}

/// Reads each object of an array with `read`.
template <class T>
base::Result<std::vector<T>> read_all(const Fields& json, std::string_view key, std::size_t limit,
                                      base::Result<T> (*read)(const Fields&)) {
  ASSIGN_OR_RETURN(const auto objects, json.objects(key));
  if (objects.size() > limit) {
    return fail(ErrorKind::kInvalid, fmt::format("{}: must have at most {} members", key, limit));
  }
  std::vector<T> out;
  for (const Fields& object : objects) {
    ASSIGN_OR_RETURN(auto value, read(object));
    out.push_back(std::move(value));
  }
  return out;
}

base::Status read_identity(const Fields& json, ViewMetadata& view) {
  ASSIGN_OR_RETURN(const auto uuid_text, json.string("view-uuid"));
  const auto uuid = base::parse_uuid(uuid_text);
  if (!uuid) return fail(ErrorKind::kInvalid, "view-uuid: must be a UUID");
  view.view_uuid = *uuid;
  ASSIGN_OR_RETURN(const auto format_version, json.int32("format-version"));
  if (format_version != kViewFormatVersion) {
    return fail(ErrorKind::kUnsupported, "format-version: only view format version 1 is read");
  }
  ASSIGN_OR_RETURN(view.location, json.string("location"));
  while (view.location.ends_with('/')) view.location.pop_back();
  ASSIGN_OR_RETURN(view.properties, json.opt_string_map("properties"));
  return {};
}

/// That ids are unique, and that all of them point to something.
base::Status check_ids(const ViewMetadata& view) {
  std::unordered_set<std::int32_t> schemas;
  for (const Schema& schema : view.schemas) {
    RETURN_IF_ERROR(validate(schema));
    RETURN_IF_ERROR(check_given_id("schemas: schema-id", schema.schema_id));
    if (!schemas.insert(schema.schema_id).second) {
      return fail(ErrorKind::kInvalid, fmt::format("schemas: id {} twice", schema.schema_id));
    }
  }
  std::unordered_set<std::int32_t> versions;
  for (const ViewVersion& version : view.versions) {
    RETURN_IF_ERROR(check_given_id("versions: version-id", version.version_id));
    if (!versions.insert(version.version_id).second) {
      return fail(ErrorKind::kInvalid, fmt::format("versions: id {} twice", version.version_id));
    }
    if (!schemas.contains(version.schema_id)) {
      return fail(ErrorKind::kInvalid, fmt::format("versions: version {} has no schema {}",
                                                   version.version_id, version.schema_id));
    }
  }
  if (!versions.contains(view.current_version_id)) {
    return fail(ErrorKind::kInvalid,
                fmt::format("current-version-id: no version {}", view.current_version_id));
  }
  return {};
}

}  // namespace

Value to_json(const ViewVersion& version) {
  Array representations;
  for (const SqlRepresentation& representation : version.representations) {
    representations.push_back(
        Object{{"type", "sql"}, {"sql", representation.sql}, {"dialect", representation.dialect}});
  }
  Array levels(version.default_namespace.begin(), version.default_namespace.end());
  Object out{{"version-id", version.version_id},
             {"timestamp-ms", version.timestamp_ms},
             {"schema-id", version.schema_id},
             {"summary", strings_json(version.summary)}};
  if (version.default_catalog) out["default-catalog"] = *version.default_catalog;
  out["default-namespace"] = std::move(levels);
  out["representations"] = std::move(representations);
  return out;
}

base::Result<ViewVersion> view_version_from_json(const Fields& json) {
  ViewVersion version;
  ASSIGN_OR_RETURN(version.version_id, json.int32("version-id"));
  ASSIGN_OR_RETURN(version.timestamp_ms, json.int64("timestamp-ms"));
  ASSIGN_OR_RETURN(version.schema_id, json.int32("schema-id"));
  ASSIGN_OR_RETURN(version.summary, json.opt_string_map("summary"));
  ASSIGN_OR_RETURN(version.default_catalog, json.opt_string("default-catalog"));
  ASSIGN_OR_RETURN(version.default_namespace, json.strings("default-namespace"));
  if (version.default_namespace.size() > kMaxNameLevels) {
    return fail(ErrorKind::kInvalid,
                fmt::format("{}: must have at most {} levels", json.path_of("default-namespace"),
                            kMaxNameLevels));
  }
  RETURN_IF_ERROR(read_representations(json, version));
  return version;
}

Value to_json(const ViewMetadata& view) {
  Array schemas;
  for (const Schema& schema : view.schemas) schemas.push_back(to_json(schema));
  Array versions;
  for (const ViewVersion& version : view.versions) versions.push_back(to_json(version));
  Array log;
  for (const ViewLogEntry& entry : view.version_log) {
    log.push_back(Object{{"timestamp-ms", entry.timestamp_ms}, {"version-id", entry.version_id}});
  }
  return Object{{"view-uuid", base::to_string(view.view_uuid)},
                {"format-version", kViewFormatVersion},
                {"location", view.location},
                {"properties", strings_json(view.properties)},
                {"schemas", std::move(schemas)},
                {"current-version-id", view.current_version_id},
                {"versions", std::move(versions)},
                {"version-log", std::move(log)}};
}

base::Result<ViewMetadata> view_metadata_from_json(const Value& value) {
  ASSIGN_OR_RETURN(const auto json, Fields::of(value, ""));
  ViewMetadata view;
  RETURN_IF_ERROR(read_identity(json, view));
  ASSIGN_OR_RETURN(view.schemas,
                   read_all<Schema>(json, "schemas", kMaxViewVersions, schema_from_json));
  ASSIGN_OR_RETURN(view.current_version_id, json.int32("current-version-id"));
  ASSIGN_OR_RETURN(view.versions, read_all<ViewVersion>(json, "versions", kMaxViewVersions,
                                                        view_version_from_json));
  ASSIGN_OR_RETURN(view.version_log, read_all<ViewLogEntry>(json, "version-log", kMaxViewVersions,
                                                            log_entry_from_json));
  RETURN_IF_ERROR(check_ids(view));
  return view;
}

}  // namespace lake::model
