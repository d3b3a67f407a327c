#include "toolserver/app/outcomes_setup.h"

#include <chrono>
#include <utility>

#include "toolserver/audit/past_calls.h"
#include "toolserver/pipeline/rate.h"

namespace tool::app {
namespace {

outcomes::Past past_of(audit::PastCall call) {
  Principal principal;
  principal.subject = std::move(call.subject);
  principal.issuer = std::move(call.issuer);
  outcomes::Past past;
  past.name.principal = pipeline::key_of(principal);
  past.name.tool = std::move(call.tool);
  past.name.request_id = std::move(call.request_id);
  past.began = call.began;
  if (call.status.empty()) return past;
  past.ended.emplace();
  past.ended->status = std::move(call.status);
  past.ended->receipt.seq = call.seq;
  past.ended->receipt.hash = std::move(call.hash);
  return past;
}

}  // namespace

base::Result<std::unique_ptr<outcomes::OutcomeStore>> open_outcomes(
    const settings::SecureConfig& config, const base::Clock& clock) {
  outcomes::StoreOptions options;
  options.folder = config.audit.path.string() + "/outcomes";
  options.durability = config.audit.durability == settings::AuditDurability::kSynced
                           ? outcomes::Durability::kSynced
                           : outcomes::Durability::kWritten;
  options.retention = std::chrono::duration_cast<std::chrono::seconds>(config.outcomes.retention);
  options.records = config.outcomes.records;
  options.bytes = config.outcomes.bytes;
  options.answer_bytes = config.outcomes.answer_bytes;
  ASSIGN_OR_RETURN(auto found, audit::past_calls(config.audit.path.string(),
                                                 clock.now() - options.retention, options.records));
  std::vector<outcomes::Past> past;
  for (auto& call : found.calls) past.push_back(past_of(std::move(call)));
  return outcomes::OutcomeStore::open(std::move(options), clock, std::move(past), found.since);
}

}  // namespace tool::app
