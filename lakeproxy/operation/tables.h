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
#include "lakeproxy/policy/authorized.h"

namespace lake::operation {

struct ListTables {
  model::Namespace name_space;
  Paging paging;
};
[[nodiscard]] base::Task<base::Result<ducklake::Page<std::string>>> list_tables(
    base::RequestContext context, Catalog* catalog, policy::Authorized<ListTables> request);

struct CreateTableIn {
  model::Namespace name_space;
  model::CreateTable table;
};
/// A table that exists, or with stage_create the answer for one that does not.
struct CreatedTable {
  publish::LoadedTablePtr loaded;
  std::optional<std::string> staged_body;
};
/// Errors: kAlreadyExists; kInvalid; kUnsupported  a type.
[[nodiscard]] base::Task<base::Result<CreatedTable>> create_table(
    base::RequestContext context, Catalog* catalog, policy::Authorized<CreateTableIn> request);

struct LoadTable {
  model::TableIdentifier identifier;
};
[[nodiscard]] base::Task<base::Result<publish::LoadedTablePtr>> load_table(
    base::RequestContext context, Catalog* catalog, policy::Authorized<LoadTable> request);

struct LoadTableAt {
  model::TableIdentifier identifier;
  model::SnapshotId snapshot_id;  ///< The lake's, or the client's own.
};
struct TableAt {
  publish::LoadedTablePtr loaded;
  model::SnapshotId snapshot_id;  ///< The lake's.
};
/// Errors: kNotFound  also for a snapshot that the table does not have.
[[nodiscard]] base::Task<base::Result<TableAt>> load_table_at(
    base::RequestContext context, Catalog* catalog, policy::Authorized<LoadTableAt> request);

struct ReportMetrics {
  model::TableIdentifier identifier;
  model::MetricsReport report;
};
[[nodiscard]] base::Task<base::Result<void>> report_metrics(
    base::RequestContext context, Catalog* catalog, policy::Authorized<ReportMetrics> request);

struct CommitTable {
  model::TableIdentifier identifier;
  model::TableCommit commit;
};
/// Errors: kConflict  a requirement does not hold, or the table keeps changing:
///         nothing was changed; kInvalid, kForbidden, kUnsupported  an update;
///         kOutcomeUnknown  read the table before trying again.
[[nodiscard]] base::Task<base::Result<publish::LoadedTablePtr>> commit_table(
    base::RequestContext context, Catalog* catalog, policy::Authorized<CommitTable> request);

struct CommitTransaction {
  std::vector<model::TableCommit> commits;  ///< Each with its identifier, none twice.
};
/// All of them or none. Errors: as commit_table().
[[nodiscard]] base::Task<base::Result<void>> commit_transaction(
    base::RequestContext context, Catalog* catalog, policy::Authorized<CommitTransaction> request);

enum class Purge { kNo, kYes };
struct DropTable {
  model::TableIdentifier identifier;
  Purge purge = Purge::kNo;
};
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
/// Errors: kAlreadyExists; kInvalid  a location outside of the catalog's prefix,
///         or what stands there is no table's metadata; kUnsupported  what the
///         lake cannot hold, named; kConflict  the lake has expired the table.
[[nodiscard]] base::Task<base::Result<publish::LoadedTablePtr>> register_table(
    base::RequestContext context, Catalog* catalog, policy::Authorized<RegisterTable> request);

struct UnregisterTable {
  model::TableIdentifier identifier;
};
/// Drops the table and keeps its files. Returns UnregisterTableResult as JSON:
/// the metadata with every commit that was made before.
/// Errors: kConflict  it keeps changing, and is still there.
[[nodiscard]] base::Task<base::Result<std::string>> unregister_table(
    base::RequestContext context, Catalog* catalog, policy::Authorized<UnregisterTable> request);

struct RenameTable {
  model::TableIdentifier from;
  model::TableIdentifier to;
};
/// Errors: kAlreadyExists  also for its own name.
[[nodiscard]] base::Task<base::Result<void>> rename_table(base::RequestContext context,
                                                          Catalog* catalog,
                                                          policy::Authorized<RenameTable> request);

}  // namespace lake::operation
