#pragma once

// A catalog beside the default one: a lake of its own in a PostgreSQL schema
// and an object prefix of its own.
// Source: specification, sections 2.1 and 4 (POST /v1/catalogs).

#include <optional>
#include <string>

#include "base/core/result.h"
#include "base/json/json.h"

namespace lake::model {

struct RegisteredCatalog {
  std::string catalog_id;       ///< The REST prefix.
  std::string metadata_schema;  ///< PostgreSQL schema of the lake's tables.
  std::string data_prefix;      ///< In the bucket of all catalogs; ends with '/'.
  /// Whose clients alone may reach it; nothing: every client.
  std::optional<std::string> account_id;

  friend bool operator==(const RegisteredCatalog&, const RegisteredCatalog&) = default;
};

/// Errors: kInvalid  a member that is missing, unknown or breaks its rule.
[[nodiscard]] base::Result<RegisteredCatalog> registered_catalog_from_json(
    const base::json::Value& json);
[[nodiscard]] base::json::Value to_json(const RegisteredCatalog& catalog);

}  // namespace lake::model
