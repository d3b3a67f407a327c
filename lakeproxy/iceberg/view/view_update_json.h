#pragma once

// What clients send to make and change views, turned into values once, at the
// edge. Shapes only: whether a change fits the view is view_change.h.
// Source: Iceberg REST description, "CreateViewRequest", "CommitViewRequest",
// "RegisterViewRequest".

#include "base/core/result.h"
#include "base/json/json.h"
#include "lakeproxy/iceberg/view/view_update.h"

namespace lake::model {

// Every reader fails with kInvalid and names the path and the rule.

/// The name obeys validate_new_name, the schema validate. A location is not
/// read: a view's place follows the server's own rule, as a table's does.
[[nodiscard]] base::Result<CreateView> create_view_from_json(const base::json::Value& body);

/// At most 1,000 requirements and 1,000 updates.
[[nodiscard]] base::Result<ViewCommit> view_commit_from_json(const base::json::Value& body);

/// The name obeys validate_new_name.
[[nodiscard]] base::Result<RegisterView> register_view_from_json(const base::json::Value& body);

}  // namespace lake::model
