#pragma once

// A table as an answer: its bytes, the tag of the form that was asked for, and
// whether the client has that form already.
// Source: Iceberg REST description, "loadTable"; RFC 9110, section 13.1.2.

#include <optional>
#include <string>

#include "lakeproxy/operation/tables.h"
#include "lakeproxy/route/actions.h"

namespace lake::route {

/// "snapshots" of the query. Errors: kInvalid  neither all nor refs.
[[nodiscard]] base::Result<model::SnapshotSelection> snapshots_of(const Call& call);

/// LoadTableResult with the tag of this form.
[[nodiscard]] base::http::Response view_response(const publish::TableView& view,
                                                 model::SnapshotSelection snapshots);
/// The same, or 304 to a client that has it.
[[nodiscard]] base::http::Response answer_load(const Call& call, const publish::TableView& view,
                                               model::SnapshotSelection snapshots);
/// The table as of one of its snapshots, or 304.
[[nodiscard]] base::http::Response answer_load_at(const Call& call, const operation::TableAt& table,
                                                  model::SnapshotSelection snapshots);

/// Loads the table for an answer that tells it with all its snapshots.
[[nodiscard]] ActionResult tell_table(base::RequestContext context, Call call,
                                      model::TableIdentifier identifier);

}  // namespace lake::route
