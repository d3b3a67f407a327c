#include "toolserver/app/flows_setup.h"

#include <chrono>
#include <utility>

namespace tool::app {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;

workflow::FlowOptions flow_options(const settings::SecureConfig& config) {
  workflow::FlowOptions options;
  options.bounds.steps = config.workflows.steps;
  options.bounds.parallel = config.workflows.parallel;
  options.bounds.time = duration_cast<milliseconds>(config.workflows.time);
  options.bounds.bytes = config.workflows.bytes;
  options.bounds.arguments = config.limits.message_bytes;
  options.step_time = duration_cast<milliseconds>(config.limits.deadline);
  options.keys_kept = duration_cast<seconds>(config.outcomes.retention);
  // Beside the states of all steps.
  options.answer_bytes = config.limits.send_queue_bytes / 2;
  return options;
}

base::Result<std::unique_ptr<workflow::RunStore>> open_runs(const settings::SecureConfig& config,
                                                            const base::Clock& clock) {
  workflow::StoreOptions options;
  options.folder = config.audit.path.string() + "/flows";
  options.durability = config.audit.durability == settings::AuditDurability::kSynced
                           ? outcomes::Durability::kSynced
                           : outcomes::Durability::kWritten;
  options.retention = duration_cast<seconds>(config.workflows.retention);
  options.runs = config.workflows.runs;
  return workflow::RunStore::open(std::move(options), clock);
}

base::Result<std::vector<workflow::NamedWorkflow>> configured_workflows(
    const settings::SecureConfig& config) {
  if (config.workflows.folder.empty()) return std::vector<workflow::NamedWorkflow>();
  auto read = workflow::read_workflow_folder(config.workflows.folder, flow_options(config).bounds);
  if (!read) return std::move(read).error().with_context("workflows.folder");
  return read;
}

}  // namespace tool::app
