#pragma once

// Some rows of a table as one principal would read them, for whoever governs: a policy is easier
// judged by what it leaves than by its SQL. The enforced plan says where they are read from, the
// masked copies or the lake's own files, and masks and filters are in force before a value leaves
// the engine (ADR 0145).
// Source: specification, section 4 ("Policy-composition rules at read time").

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lakeproxy/operation/effective_policies.h"

namespace lake::operation {

/// What one preview shows and reads at most.
inline constexpr std::size_t kPreviewRows = 10;
inline constexpr std::size_t kPreviewColumns = 200;
inline constexpr std::size_t kPreviewCharacters = 200;  ///< Of a value; more is cut, with a mark.
inline constexpr std::size_t kPreviewFiles = 16;
inline constexpr std::uint64_t kPreviewBytes = 64 << 20;  ///< Of data files.
inline constexpr std::size_t kPreviewsAtOnce = 2;         ///< On one event loop, of one catalog.

struct PreviewRows {
  EffectivePolicies of;
};
[[nodiscard]] inline policy::Targets targets(const PreviewRows& request) {
  return {policy::Target::table(request.of.table)};
}

struct PreviewColumn {
  std::string name;
  std::string type;  ///< Iceberg's.
  bool masked = false;
  bool shown = false;  ///< Not where the engine cannot read values of the type.
};

struct Preview {
  std::vector<std::string> roles;
  policy::ReadKind kind = policy::ReadKind::kRefused;
  std::string reason;                            ///< Of kRefused; there are no rows then.
  std::shared_ptr<const policy::MaskPlan> mask;  ///< Null: nothing is masked.
  std::optional<model::SnapshotId> snapshot_id;  ///< Whose rows; nothing: the table has none.
  std::vector<PreviewColumn> columns;
  std::size_t more_columns = 0;  ///< That are left out.
  /// A text for each column; nothing: null, or not shown.
  std::vector<std::vector<std::optional<std::string>>> rows;
  bool is_all = false;  ///< The principal sees no other rows.
};

/// The rows of a table have no order: those of the smallest files are shown.
/// Errors: those of plan_for() and MaskedTables::get(): kUnavailable (masked::kCopiesMissing) while
///         copies are made; kRateLimited  over kPreviewsAtOnce; kUnsupported  a file cannot be
///         read, or its first rows are over kPreviewBytes: says why, and tells no value; kTimeout;
///         kUnavailable.
[[nodiscard]] base::Task<base::Result<Preview>> preview_rows(
    base::RequestContext context, Catalog* catalog, policy::Authorized<PreviewRows> request);

}  // namespace lake::operation
