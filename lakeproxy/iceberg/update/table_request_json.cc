// The bodies of the requests that create and commit.

#include <set>

#include "lakeproxy/iceberg/schema/partition_json.h"
#include "lakeproxy/iceberg/schema/schema_json.h"
#include "lakeproxy/iceberg/update/table_update_json.h"

namespace lake::model {
namespace {

using base::ErrorKind;
using base::fail;
using base::json::Fields;
using base::json::Value;

constexpr std::size_t kMaxRequirements = 1'000;
constexpr std::size_t kMaxUpdates = 10'000;
constexpr std::size_t kMaxTables = 1'000;

base::Result<TableCommit> commit_from_fields(const Fields& json) {
  TableCommit commit;
  ASSIGN_OR_RETURN(const auto identifier, json.opt_object("identifier"));
  if (identifier) {
    ASSIGN_OR_RETURN(commit.identifier, table_identifier_from_json(*identifier));
  }
  // The description demands it; other catalogs take a commit without it as one
  // without conditions, and clients are written against those.
  if (json.has("requirements")) {
    ASSIGN_OR_RETURN(const auto requirements, json.objects("requirements", kMaxRequirements));
    for (const Fields& object : requirements) {
      ASSIGN_OR_RETURN(auto requirement, table_requirement_from_json(object));
      commit.requirements.push_back(std::move(requirement));
    }
  }
  ASSIGN_OR_RETURN(const auto updates, json.objects("updates", kMaxUpdates));
  for (const Fields& object : updates) {
    ASSIGN_OR_RETURN(auto update, table_update_from_json(object));
    commit.updates.push_back(std::move(update));
  }
  return commit;
}

}  // namespace

base::Result<TableIdentifier> table_identifier_from_json(const Fields& json) {
  ASSIGN_OR_RETURN(auto levels, json.strings("namespace"));
  TableIdentifier identifier;
  auto name_space = make_namespace(std::move(levels));
  if (!name_space) return std::move(name_space).error().with_context(json.path());
  identifier.name_space = std::move(*name_space);
  ASSIGN_OR_RETURN(identifier.name, json.string("name"));
  if (identifier.name.empty()) {
    return fail(ErrorKind::kInvalid, json.path_of("name") + ": must not be empty");
  }
  return identifier;
}

base::Result<CreateTable> create_table_from_json(const Value& body) {
  ASSIGN_OR_RETURN(const auto json, Fields::of(body, ""));
  CreateTable create;
  ASSIGN_OR_RETURN(create.name, json.string("name"));
  RETURN_IF_ERROR(validate_new_name(create.name));
  ASSIGN_OR_RETURN(create.location, json.opt_string("location"));
  ASSIGN_OR_RETURN(const auto schema, json.object("schema"));
  ASSIGN_OR_RETURN(create.schema, valid_schema_from_json(schema));
  ASSIGN_OR_RETURN(const auto spec, json.opt_object("partition-spec"));
  if (spec) {
    ASSIGN_OR_RETURN(create.spec, partition_spec_from_json(*spec));
  }
  ASSIGN_OR_RETURN(const auto order, json.opt_object("write-order"));
  if (order) {
    ASSIGN_OR_RETURN(create.order, sort_order_from_json(*order));
  }
  ASSIGN_OR_RETURN(const auto stage, json.opt_boolean("stage-create"));
  create.stage_create = stage.value_or(false);
  ASSIGN_OR_RETURN(create.properties, json.opt_string_map("properties"));
  return create;
}

base::Result<TableCommit> table_commit_from_json(const Value& body) {
  ASSIGN_OR_RETURN(const auto json, Fields::of(body, ""));
  return commit_from_fields(json);
}

base::Result<std::vector<TableCommit>> transaction_from_json(const Value& body) {
  ASSIGN_OR_RETURN(const auto json, Fields::of(body, ""));
  ASSIGN_OR_RETURN(const auto changes, json.objects("table-changes", kMaxTables));
  std::vector<TableCommit> commits;
  std::set<TableIdentifier> seen;
  for (const Fields& object : changes) {
    ASSIGN_OR_RETURN(auto commit, commit_from_fields(object));
    if (!commit.identifier) {
      return fail(ErrorKind::kInvalid, object.path_of("identifier") + ": is required");
    }
    if (!seen.insert(*commit.identifier).second) {
      return fail(ErrorKind::kInvalid, object.path_of("identifier") + ": table comes twice");
    }
    commits.push_back(std::move(commit));
  }
  return commits;
}

}  // namespace lake::model
