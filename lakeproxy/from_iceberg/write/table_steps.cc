#include "lakeproxy/from_iceberg/write/table_steps.h"

#include <algorithm>
#include <iterator>

#include "lakeproxy/ducklake/commit/committer.h"

namespace lake::ducklake {
namespace {

using base::pg::Query;

base::Result<TableStep> step_of(const SchemaSql& sql, const std::string& data_path,
                                TableCommitPart part) {
  if (auto* change = std::get_if<TableChange>(&part)) return change_step(sql, std::move(*change));
  return create_step(sql, data_path, std::get<NewTable>(std::move(part)));
}

}  // namespace

base::Result<CommitPlan> plan_steps(const std::vector<TableStep>& steps, const LakeHead& first,
                                    std::span<const base::pg::RowsPtr> preconditions) {
  CommitPlan whole;
  LakeHead head = first;
  for (const TableStep& step : steps) {
    ASSIGN_OR_RETURN(auto plan,
                     step.plan(first, head, preconditions.first(step.preconditions.size())));
    preconditions = preconditions.subspan(step.preconditions.size());
    for (LakeDelta& delta : plan.deltas) {
      head = head_after(head, delta);
      whole.deltas.push_back(std::move(delta));
    }
    std::ranges::move(plan.sidecar_queries, std::back_inserter(whole.sidecar_queries));
  }
  return whole;
}

base::Task<base::Result<Committed>> LakeWriter::commit_parts(base::RequestContext context,
                                                             std::vector<TableCommitPart> parts) {
  auto steps = std::make_shared<std::vector<TableStep>>();
  std::vector<Query> preconditions;
  for (TableCommitPart& part : parts) {
    CO_ASSIGN_OR_RETURN(auto step, step_of(sql_, options_.data_path, std::move(part)));
    preconditions.insert(preconditions.end(), step.preconditions.begin(), step.preconditions.end());
    steps->push_back(std::move(step));
  }
  Planner planner = [steps](const LakeHead& head, const std::vector<base::pg::RowsPtr>& rows) {
    return plan_steps(*steps, head, rows);
  };
  co_return co_await committer_->commit(context, std::move(preconditions), std::move(planner),
                                        key_);
}

}  // namespace lake::ducklake
