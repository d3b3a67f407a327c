#pragma once

// The table operations of the catalog; each has a file of its name.
// Errors besides those named: the lake's and the object store's (kUnavailable,
// kTimeout, kOutcomeUnknown) and kNotFound for a missing table or namespace.
// Source: Iceberg REST description, "/v1/{prefix}/namespaces/{namespace}/tables".

#include <optional>
#include <string>

#include "lakeproxy/iceberg/update/table_update.h"
#include "lakeproxy/operation/catalog/catalog.h"
#include "lakeproxy/operation/catalog/metrics_report.h"
#include "lakeproxy/operation/namespaces.h"
#include "lakeproxy/operation/shown_table.h"
#include "lakeproxy/policy/authorized.h"

namespace lake::operation {

struct ListTables {
  model::Namespace name_space;
  Paging paging;
};
[[nodiscard]] inline policy::Targets targets(const ListTables& request) {
  return {policy::Target::of(request.name_space)};
}
[[nodiscard]] base::Task<base::Result<ducklake::Page<std::string>>> list_tables(
    base::RequestContext context, Catalog* catalog, policy::Authorized<ListTables> request);

struct CreateTableIn {
  model::Namespace name_space;
  model::CreateTable table;
};
[[nodiscard]] inline policy::Targets targets(const CreateTableIn& request) {
  return {policy::Target::table(request.name_space, request.table.name)};
}
/// A table that exists, or with stage_create the answer for one that does not.
struct CreatedTable {
  std::optional<ShownTable> table;
  AnswerText staged;
  std::string staged_location = {};
  base::Uuid staged_uuid = {};
};
/// Errors: kAlreadyExists; kInvalid; kUnsupported  a type.
[[nodiscard]] base::Task<base::Result<CreatedTable>> create_table(
    base::RequestContext context, Catalog* catalog, policy::Authorized<CreateTableIn> request);

struct LoadTable {
  model::TableIdentifier identifier;
  /// The lake's, or the client's own: the table as of then. Nothing: as it is.
  std::optional<model::SnapshotId> snapshot_id = std::nullopt;
  model::SnapshotSelection snapshots = model::SnapshotSelection::kAll;
};
[[nodiscard]] inline policy::Targets targets(const LoadTable& request) {
  return {policy::Target::table(request.identifier)};
}
/// Without a snapshot_id.
[[nodiscard]] base::Task<base::Result<ShownTable>> load_table(
    base::RequestContext context, Catalog* catalog, policy::Authorized<LoadTable> request);

/// Whether it is there, also while its files are being masked for the caller.
[[nodiscard]] base::Task<base::Result<void>> table_exists(base::RequestContext context,
                                                          Catalog* catalog,
                                                          policy::Authorized<LoadTable> request);

struct TableAt {
  ShownTable table;
  model::SnapshotId snapshot_id;  ///< The lake's.
};
/// With one. Errors: kNotFound  also for a snapshot that the table does not have.
[[nodiscard]] base::Task<base::Result<TableAt>> load_table_at(
    base::RequestContext context, Catalog* catalog, policy::Authorized<LoadTable> request);

struct ReportMetrics {
  model::TableIdentifier identifier;
  model::MetricsReport report;
};
[[nodiscard]] inline policy::Targets targets(const ReportMetrics& request) {
  return {policy::Target::table(request.identifier)};
}
[[nodiscard]] base::Task<base::Result<void>> report_metrics(
    base::RequestContext context, Catalog* catalog, policy::Authorized<ReportMetrics> request);

struct CommitTable {
  model::TableIdentifier identifier;
  model::TableCommit commit;
};
[[nodiscard]] inline policy::Targets targets(const CommitTable& request) {
  return {policy::Target::table(request.identifier)};
}
/// Errors: kConflict  a requirement does not hold, or the table keeps changing:
///         nothing was changed; kInvalid, kForbidden, kUnsupported  an update;
///         kOutcomeUnknown  read the table before trying again.
[[nodiscard]] base::Task<base::Result<ShownTable>> commit_table(
    base::RequestContext context, Catalog* catalog, policy::Authorized<CommitTable> request);

struct CommitTransaction {
  std::vector<model::TableCommit> commits;  ///< Each with its identifier, none twice.
};
/// A transaction of no table is about the catalog that it leaves as it is.
[[nodiscard]] inline policy::Targets targets(const CommitTransaction& request) {
  policy::Targets all;
  for (const auto& commit : request.commits) {
    all.push_back(policy::Target::table(*commit.identifier));
  }
  if (all.empty()) all.push_back(policy::Target::catalog());
  return all;
}
/// All of them or none. Errors: as commit_table().
[[nodiscard]] base::Task<base::Result<void>> commit_transaction(
    base::RequestContext context, Catalog* catalog, policy::Authorized<CommitTransaction> request);

enum class Purge { kNo, kYes };
struct DropTable {
  model::TableIdentifier identifier;
  Purge purge = Purge::kNo;
};
[[nodiscard]] inline policy::Targets targets(const DropTable& request) {
  return {policy::Target::table(request.identifier)};
}
/// With purge also removes every object under the table's prefix, as purge.h
/// says. Errors: kUnavailable  the table is dropped and some objects are left:
///         drop it again to go on.
[[nodiscard]] base::Task<base::Result<void>> drop_table(base::RequestContext context,
                                                        Catalog* catalog,
                                                        policy::Authorized<DropTable> request);
/// What is left of such a drop that was made before; nothing may be.
[[nodiscard]] base::Task<base::Result<void>> finish_drop(base::RequestContext context,
                                                         Catalog* catalog,
                                                         policy::Authorized<DropTable> request);

struct RegisterTable {
  model::TableIdentifier identifier;
  std::string metadata_location;
  ducklake::Existing existing = ducklake::Existing::kRefused;
};
[[nodiscard]] inline policy::Targets targets(const RegisterTable& request) {
  return {policy::Target::table(request.identifier)};
}
/// Errors: kAlreadyExists; kInvalid  a location outside of the catalog's prefix,
///         or what stands there is no table's metadata; kUnsupported  what the
///         lake cannot hold, named; kConflict  the lake has expired the table.
[[nodiscard]] base::Task<base::Result<ShownTable>> register_table(
    base::RequestContext context, Catalog* catalog, policy::Authorized<RegisterTable> request);

struct UnregisterTable {
  model::TableIdentifier identifier;
};
[[nodiscard]] inline policy::Targets targets(const UnregisterTable& request) {
  return {policy::Target::table(request.identifier)};
}
/// Drops the table and keeps its files. Returns UnregisterTableResult as JSON:
/// the metadata with every commit that was made before.
/// Errors: kConflict  it keeps changing, and is still there.
[[nodiscard]] base::Task<base::Result<std::string>> unregister_table(
    base::RequestContext context, Catalog* catalog, policy::Authorized<UnregisterTable> request);

struct RenameTable {
  model::TableIdentifier from;
  model::TableIdentifier to;
};
[[nodiscard]] inline policy::Targets targets(const RenameTable& request) {
  return {policy::Target::table(request.from), policy::Target::table(request.to)};
}
/// Errors: kAlreadyExists  also for its own name.
[[nodiscard]] base::Task<base::Result<void>> rename_table(base::RequestContext context,
                                                          Catalog* catalog,
                                                          policy::Authorized<RenameTable> request);

}  // namespace lake::operation
