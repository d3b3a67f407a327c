#pragma once

// A table as an answer: its bytes, as they are or as gzip, the tag of the form that
// was asked for, and whether the client has that form already.
// Source: Iceberg REST description, "loadTable"; RFC 9110, sections 8.8.3, 12.5.3, 13.1.2.

#include <optional>
#include <string>

#include "lakeproxy/delegation/access_delegation.h"
#include "lakeproxy/http/actions.h"
#include "lakeproxy/operation/tables.h"

namespace lake::http {

[[nodiscard]] base::http::Body body_of(operation::AnswerText text);

/// "snapshots" of the query. Errors: kInvalid  neither all nor refs.
[[nodiscard]] base::Result<model::SnapshotSelection> snapshots_of(const Call& call);

/// What a client with this request can take.
[[nodiscard]] delegation::Asked asked_of(const Call& call);

/// Has the answer tell the client how it reaches the table's objects, where it asks for that.
/// Both outlive the task. Errors: those of AccessDelegation::for_client().
[[nodiscard]] base::Task<base::Status> delegate(RequestContext context, Call* call,
                                                model::TableIdentifier identifier,
                                                operation::ShownTable* table,
                                                delegation::Occasion occasion);

/// LoadTableResult with all snapshots and the tag of this form, as gzip where the client
/// takes that, for a change that was made: without keys where none can be had, since what was
/// done is done. `identifier` is the table's; never an error.
[[nodiscard]] ActionResult view_response(RequestContext context, Call* call,
                                         model::TableIdentifier identifier,
                                         operation::ShownTable table);
/// The answer to a load that waits for nothing: 304 to a client that has this form, or
/// bytes that are there. Nothing: packed_answer makes them.
[[nodiscard]] std::optional<base::http::Response> ready_answer(const Call& call,
                                                               const operation::ShownTable& table,
                                                               model::SnapshotSelection snapshots);
/// The answer to a load as gzip, which the first of its kind waits for.
[[nodiscard]] ActionResult packed_answer(RequestContext context, Call* call,
                                         model::TableIdentifier identifier,
                                         operation::ShownTable table,
                                         model::SnapshotSelection snapshots);
/// The table as of one of its snapshots, or 304.
[[nodiscard]] base::http::Response answer_load_at(const Call& call, const operation::TableAt& at,
                                                  model::SnapshotSelection snapshots);

/// Of a load in the audit trail.
inline constexpr std::string_view kLoaded = "load_table";
/// Records a load, or what else tells the table's files, that policies had to do with, before it is
/// answered. Call, `seen`, `operation` outlive the task. Errors: those of AuditTrail::write().
[[nodiscard]] base::Task<base::Status> audit_load(RequestContext context, Call* call,
                                                  operation::LoadTable load,
                                                  const operation::SeenTable* seen,
                                                  std::string_view operation = kLoaded);
/// The error of such a read. One that governance failed on is in the trail, as what was refused
/// with 403 is.
[[nodiscard]] base::Error not_loaded(Call& call, const operation::LoadTable& load,
                                     base::Error error, std::string_view operation = kLoaded);

/// Loads the table for an answer that tells it with all its snapshots.
[[nodiscard]] ActionResult tell_table(RequestContext context, Call* call,
                                      Authorized<operation::LoadTable> request);

}  // namespace lake::http
