#pragma once

// Several tables in one commit: each table's part is planned on the head that
// the parts before it leave, and all are written in one transaction. Each table
// has its own lake snapshot.
// Source: Iceberg REST description, "commitTransaction".

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lakeproxy/from_iceberg/write/lake_writer.h"

namespace lake::ducklake {

/// What one table's part wants to know, and its plan.
struct TableStep {
  std::vector<base::pg::Query> preconditions;
  /// `first` is the head as it was read with the preconditions, `head` the one that
  /// this part builds on.
  std::function<base::Result<CommitPlan>(const LakeHead& first, const LakeHead& head,
                                         std::span<const base::pg::RowsPtr> preconditions)>
      plan;
};

[[nodiscard]] TableStep change_step(const SchemaSql& sql, TableChange change);
/// Errors: kUnsupported  a type that the lake cannot hold.
[[nodiscard]] base::Result<TableStep> create_step(const SchemaSql& sql,
                                                  const std::string& data_path, NewTable table);

/// The plans of all steps as one. Errors: the first that a step has.
[[nodiscard]] base::Result<CommitPlan> plan_steps(const std::vector<TableStep>& steps,
                                                  const LakeHead& first,
                                                  std::span<const base::pg::RowsPtr> preconditions);

}  // namespace lake::ducklake
