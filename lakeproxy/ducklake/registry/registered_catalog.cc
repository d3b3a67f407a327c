#include "lakeproxy/ducklake/registry/registered_catalog.h"

#include <algorithm>
#include <array>

#include "base/json/fields.h"
#include "lakeproxy/model/catalog_names.h"

namespace lake::model {
namespace {

using base::ErrorKind;

constexpr std::size_t kMaxName = 63;
constexpr std::size_t kMaxAccount = 255;
constexpr std::array<std::string_view, 4> kMembers = {"catalog_id", "metadata_schema",
                                                      "data_prefix", "account_id"};
// Paths that are no catalog's: /v1/config, /v1/catalogs, /v1/oauth/tokens.
constexpr std::array<std::string_view, 3> kReservedIds = {"config", "catalogs", "oauth"};

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

base::Error broken(std::string_view member, std::string_view rule) {
  return base::fail(ErrorKind::kInvalid, std::string(member) + ": " + std::string(rule));
}

base::Status check_rule(std::string_view member, std::string_view broken_rule) {
  if (broken_rule.empty()) return {};
  return broken(member, broken_rule);
}

base::Status check_id(std::string_view id) {
  RETURN_IF_ERROR(check_rule("catalog_id", identifier_rule(id)));
  if (std::ranges::find(kReservedIds, id) != kReservedIds.end())
    return broken("catalog_id", "is reserved");
  return {};
}

base::Status check_schema(std::string_view schema) {
  auto allowed = [](char c) { return is_lower(c) || is_digit(c) || c == '_'; };
  bool good = !schema.empty() && schema.size() <= kMaxName && !is_digit(schema[0]) &&
              std::ranges::all_of(schema, allowed);
  if (!good) {
    return broken("metadata_schema",
                  "must be 1 to 63 lower-case letters, digits or '_', not beginning with a digit");
  }
  if (schema.starts_with("pg_") || schema == "information_schema") {
    return broken("metadata_schema", "belongs to PostgreSQL");
  }
  return {};
}

base::Status check_account(std::string_view account) {
  auto allowed = [](char c) { return c >= ' ' && c <= '~'; };
  if (!account.empty() && account.size() <= kMaxAccount && std::ranges::all_of(account, allowed)) {
    return {};
  }
  return broken("account_id", "must be 1 to 255 printable ASCII characters");
}

}  // namespace

base::Result<RegisteredCatalog> registered_catalog_from_json(const base::json::Value& json) {
  ASSIGN_OR_RETURN(auto fields, base::json::Fields::of(json, "body"));
  // A misspelt account_id would open the catalog to everybody.
  for (const auto& member : json.as_object()) {
    if (std::ranges::find(kMembers, std::string_view(member.key())) == kMembers.end()) {
      return broken(member.key(), "is not a member of a catalog");
    }
  }
  RegisteredCatalog catalog;
  ASSIGN_OR_RETURN(catalog.catalog_id, fields.string("catalog_id"));
  ASSIGN_OR_RETURN(catalog.metadata_schema, fields.string("metadata_schema"));
  ASSIGN_OR_RETURN(catalog.data_prefix, fields.string("data_prefix"));
  ASSIGN_OR_RETURN(catalog.account_id, fields.opt_string("account_id"));
  RETURN_IF_ERROR(check_id(catalog.catalog_id));
  RETURN_IF_ERROR(check_schema(catalog.metadata_schema));
  RETURN_IF_ERROR(check_rule("data_prefix", prefix_rule(catalog.data_prefix)));
  if (catalog.account_id) RETURN_IF_ERROR(check_account(*catalog.account_id));
  return catalog;
}

base::json::Value to_json(const RegisteredCatalog& catalog) {
  base::json::Object json{{"catalog_id", catalog.catalog_id},
                          {"metadata_schema", catalog.metadata_schema},
                          {"data_prefix", catalog.data_prefix}};
  if (catalog.account_id) json["account_id"] = *catalog.account_id;
  return json;
}

}  // namespace lake::model
