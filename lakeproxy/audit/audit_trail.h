#pragma once

// What was allowed must be found again later: a request that is audited is answered once its
// record is stored, and not at all where it cannot be. An insert for each would make PostgreSQL the
// limit of what a server signs, so records that come while an insert runs go into the next one
// together (audit_batches.h).
//
// A refusal gives nothing away, and whoever guesses sends thousands: equal ones are counted, so
// they cost one line a minute, and nobody waits for it, as the wait would tell what was known.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/log/logger.h"
#include "base/postgres/session.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "base/runtime/task_group.h"
#include "lakeproxy/audit/audit_batches.h"
#include "lakeproxy/audit/audit_chain.h"
#include "lakeproxy/auth/principal.h"

namespace lake::audit {

/// What is decided about this principal; the detail is left to the caller.
[[nodiscard]] AuditRecord record_of(const auth::Principal& principal, std::string operation,
                                    std::string object, std::string decision);

struct AuditOptions {
  std::string metadata_schema;
  std::chrono::seconds retention{0};           ///< How long lines are kept; 0: for ever.
  std::chrono::milliseconds sum_time{60'000};  ///< Equal refusals of this time are one line.
};

/// One catalog's trail, on one event loop; not thread-safe. Whoever ends the process calls hurry()
/// and waits for the tasks.
class AuditTrail {
 public:
  /// They outlive the tasks. `batches` are those of the catalog, for all event loops; null: its
  /// own.
  AuditTrail(base::pg::Pool& pool, base::TaskGroup& tasks, const base::Clock& clock,
             base::log::Logger log, AuditOptions options,
             std::shared_ptr<AuditBatches> batches = nullptr);
  AuditTrail(const AuditTrail&) = delete;
  AuditTrail& operator=(const AuditTrail&) = delete;
  ~AuditTrail();

  /// Returns once the record is stored, with the time of the call.
  /// Errors: kUnavailable  it may not be: what it records must not be done or answered;
  ///         kCancelled.
  [[nodiscard]] base::Task<base::Status> write(base::RequestContext context, AuditRecord record);
  /// The same for the answer to a read. Those that wait for the same insert and say the same are
  /// one line, which has the first one's request, and in its detail "count", "last" and
  /// "request_ids", the requests of the others.
  [[nodiscard]] base::Task<base::Status> write_read(base::RequestContext context,
                                                    AuditRecord record);
  /// Of refusals: returns at once. The first is stored soon; equal ones, but for their detail, are
  /// counted, and stored as one line with the member "count". They are kept in memory until
  /// PostgreSQL takes them; of more than 64 different ones at a time only the operation, the
  /// decision and their number.
  void write_summed(const base::RequestContext& context, AuditRecord record);
  /// From now on nothing waits for others: the process is about to end.
  void hurry();

 private:
  struct State;
  std::shared_ptr<State> state_;  ///< Shared with the tasks, which may outlive a catalog.
};

}  // namespace lake::audit
