#pragma once

// What clients send to change tables, turned into values once, at the edge.
// Shapes only: whether a change fits the table is metadata_change.h.
// Source: Iceberg REST description, "CreateTableRequest", "CommitTableRequest",
// "CommitTransactionRequest", "TableUpdate" and "TableRequirement".

#include <vector>

#include "base/core/result.h"
#include "base/json/fields.h"
#include "base/json/json.h"
#include "lakeproxy/iceberg/update/table_update.h"

namespace lake::model {

// Every reader fails with kInvalid and names the path and the rule.

/// {"namespace": [...], "name": ...}.
[[nodiscard]] base::Result<TableIdentifier> table_identifier_from_json(
    const base::json::Fields& json);

/// One member of "updates". An action that does not exist, or belongs to views
/// only, is named in the error.
/// Errors besides: kUnsupported  an action of table encryption.
[[nodiscard]] base::Result<TableUpdate> table_update_from_json(const base::json::Fields& json);

/// One member of "requirements". A type that does not exist is named in the error.
[[nodiscard]] base::Result<TableRequirement> table_requirement_from_json(
    const base::json::Fields& json);

/// The name obeys validate_new_name, the schema validate.
[[nodiscard]] base::Result<CreateTable> create_table_from_json(const base::json::Value& body);

/// At most 1,000 requirements and 10,000 updates.
[[nodiscard]] base::Result<TableCommit> table_commit_from_json(const base::json::Value& body);

/// Each commit has its identifier, and no table comes twice. At most 1,000.
[[nodiscard]] base::Result<std::vector<TableCommit>> transaction_from_json(
    const base::json::Value& body);

}  // namespace lake::model
