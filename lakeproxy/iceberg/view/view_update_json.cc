#include "lakeproxy/iceberg/view/view_update_json.h"

#include <fmt/format.h>

#include <concepts>

#include "base/core/text.h"
#include "lakeproxy/iceberg/schema/schema_json.h"
#include "lakeproxy/iceberg/update/table_update_json.h"
#include "lakeproxy/iceberg/view/view_json.h"

namespace lake::model {
namespace {

using base::ErrorKind;
using base::fail;
using base::json::Fields;
using base::json::Value;

constexpr std::size_t kMaxMembers = 1'000;

// The updates of tables that views share.
template <class T>
concept OfViews = std::same_as<T, AssignUuid> || std::same_as<T, UpgradeFormatVersion> ||
                  std::same_as<T, AddSchema> || std::same_as<T, SetLocation> ||
                  std::same_as<T, SetProperties> || std::same_as<T, RemoveProperties>;

struct ToViewUpdate {
  const Fields* json;

  template <OfViews T>
  base::Result<ViewUpdate> operator()(const T& update) const {
    return ViewUpdate(update);
  }
  template <class T>
  base::Result<ViewUpdate> operator()(const T&) const {
    return fail(ErrorKind::kInvalid, json->path_of("action") + ": is not an action on views");
  }
};

base::Result<ViewUpdate> view_update_from_json(const Fields& json) {
  ASSIGN_OR_RETURN(const auto action, json.string("action"));
  if (action == "add-view-version") {
    ASSIGN_OR_RETURN(const auto object, json.object("view-version"));
    ASSIGN_OR_RETURN(auto version, view_version_from_json(object));
    return ViewUpdate(AddViewVersion{std::move(version)});
  }
  if (action == "set-current-view-version") {
    ASSIGN_OR_RETURN(const auto id, json.int32("view-version-id"));
    return ViewUpdate(SetCurrentViewVersion{id});
  }
  ASSIGN_OR_RETURN(const auto update, table_update_from_json(json));
  return std::visit(ToViewUpdate{&json}, update);
}

base::Result<AssertViewUuid> view_requirement_from_json(const Fields& json) {
  ASSIGN_OR_RETURN(const auto type, json.string("type"));
  if (type != "assert-view-uuid") {
    return fail(ErrorKind::kInvalid,
                fmt::format("{}: '{}' is not a requirement on views", json.path_of("type"), type));
  }
  ASSIGN_OR_RETURN(const auto text, json.string("uuid"));
  const auto uuid = base::parse_uuid(text);
  if (!uuid) return fail(ErrorKind::kInvalid, json.path_of("uuid") + ": must be a UUID");
  return AssertViewUuid{*uuid};
}

}  // namespace

base::Result<CreateView> create_view_from_json(const Value& body) {
  ASSIGN_OR_RETURN(const auto json, Fields::of(body, ""));
  CreateView create;
  ASSIGN_OR_RETURN(create.name, json.string("name"));
  RETURN_IF_ERROR(validate_new_name(create.name));
  ASSIGN_OR_RETURN(const auto schema, json.object("schema"));
  ASSIGN_OR_RETURN(create.schema, valid_schema_from_json(schema));
  ASSIGN_OR_RETURN(const auto version, json.object("view-version"));
  ASSIGN_OR_RETURN(create.version, view_version_from_json(version));
  ASSIGN_OR_RETURN(create.properties, json.opt_string_map("properties"));
  return create;
}

base::Result<ViewCommit> view_commit_from_json(const Value& body) {
  ASSIGN_OR_RETURN(const auto json, Fields::of(body, ""));
  ViewCommit commit;
  if (json.has("requirements")) {
    ASSIGN_OR_RETURN(const auto requirements, json.objects("requirements", kMaxMembers));
    for (const Fields& object : requirements) {
      ASSIGN_OR_RETURN(auto requirement, view_requirement_from_json(object));
      commit.requirements.push_back(requirement);
    }
  }
  ASSIGN_OR_RETURN(const auto updates, json.objects("updates", kMaxMembers));
  for (const Fields& object : updates) {
    ASSIGN_OR_RETURN(auto update, view_update_from_json(object));
    commit.updates.push_back(std::move(update));
  }
  return commit;
}

base::Result<RegisterView> register_view_from_json(const Value& body) {
  ASSIGN_OR_RETURN(const auto json, Fields::of(body, ""));
  RegisterView request;
  ASSIGN_OR_RETURN(request.name, json.string("name"));
  RETURN_IF_ERROR(validate_new_name(request.name));
  ASSIGN_OR_RETURN(request.metadata_location, json.string("metadata-location"));
  return request;
}

}  // namespace lake::model
