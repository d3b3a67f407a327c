#include "lakeproxy/maintenance/compaction/compactor.h"

#include <algorithm>
#include <optional>

#include "base/duckdb/errors.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;

constexpr int kTries = 3;
// Each makes files of the lake's target size from smaller ones: more are only
// needed for a table that is written at the same time.
constexpr int kRounds = 10;
constexpr std::int64_t kFilesAtOnce = 4;

bool engine_ended(const base::Error& error) { return error.reason() == base::duckdb::kEngineEnded; }

// Nothing where the error ends the compaction.
std::optional<std::string> reason_to_skip(const base::Error& error) {
  if (engine_ended(error)) return "DuckDB failed with an error of its own; the log has it";
  if (error.reason() == kWouldLoseRows) {
    return "DuckDB 1.5.5 would take other rows for deleted: the table is or was partitioned by a "
           "text, and rows that PostgreSQL holds were deleted";
  }
  switch (error.kind()) {
    case ErrorKind::kInvalid: return "DuckDB refuses it for this table; the log has its words";
    case ErrorKind::kConflict: return "other commits to the table came first";
    case ErrorKind::kForbidden: return "a file of the table lies outside of the catalog's prefix";
    case ErrorKind::kTimeout: return "the time of the request was over";
    default: return std::nullopt;
  }
}

// One job, on as many sessions one after the other as it needs.
class Steps {
 public:
  Steps(const LakeAccess& access, base::Deadline deadline, const CompactionJob& job)
      : access_(access), deadline_(deadline), job_(job) {}

  base::Result<CompactionDone> run() {
    RETURN_IF_ERROR(connect());
    for (int round = 0; round < kRounds; ++round) {
      ASSIGN_OR_RETURN(bool changed, write_anew());
      if (!changed) break;
    }
    ASSIGN_OR_RETURN(auto expired, attempt<std::int64_t>(
                                       "expire", [this] { return session_->expire(job_.expire); }));
    reached(job_.watch, CompactionStep::kExpired);
    done_.snapshots_expired = expired;
    tell("expire", expired);
    return std::move(done_);
  }

 private:
  base::Result<bool> write_anew() {
    ASSIGN_OR_RETURN(auto flushed,
                     attempt<std::int64_t>("flush", [this] { return session_->flush(job_.name); }));
    reached(job_.watch, CompactionStep::kFlushed);
    ASSIGN_OR_RETURN(auto rewritten, attempt<Rewritten>("rewrite", [this] {
                       return session_->rewrite_deleted(job_.name);
                     }));
    reached(job_.watch, CompactionStep::kRewritten);
    ASSIGN_OR_RETURN(auto merged, attempt<Rewritten>("merge", [this] {
                       return session_->merge(job_.name, kFilesAtOnce);
                     }));
    reached(job_.watch, CompactionStep::kMerged);
    done_.rows_flushed += flushed;
    add(rewritten, done_.rewritten);
    add(merged, done_.merged);
    tell("flush", flushed);
    tell("rewrite", rewritten.read);
    tell("merge", merged.read);
    return flushed + rewritten.read + merged.read > 0;
  }

  static void add(const Rewritten& more, Rewritten& sum) {
    sum.read += more.read;
    sum.written += more.written;
  }

  void tell(std::string_view step, std::int64_t count) const {
    if (count > 0) job_.progress(step, count);
  }

  // What was skipped once is not tried again in a later round.
  [[nodiscard]] bool is_skipped(std::string_view step) const {
    return std::ranges::any_of(done_.skipped, [&](const auto& one) { return one.step == step; });
  }

  base::Result<void> connect() {
    ASSIGN_OR_RETURN(session_, LakeSession::open(access_, job_.place, deadline_));
    return {};
  }

  template <class T>
  base::Result<T> attempt(std::string_view step, const std::function<base::Result<T>()>& act) {
    if (is_skipped(step)) return T{};
    auto result = act();
    for (int i = 1; i < kTries && !result && result.error().kind() == ErrorKind::kConflict; ++i) {
      result = act();
    }
    if (result) return result;
    auto reason = reason_to_skip(result.error());
    if (!reason) return result;
    done_.skipped.push_back({std::string(step), std::move(*reason), result.error().detail()});
    if (engine_ended(result.error())) RETURN_IF_ERROR(connect());
    return T{};
  }

  const LakeAccess& access_;
  const base::Deadline deadline_;
  const CompactionJob& job_;
  std::unique_ptr<LakeSession> session_;
  CompactionDone done_;
};

}  // namespace

base::Result<Compactor::Place> Compactor::enter() {
  if (!available()) {
    return base::fail(ErrorKind::kUnsupported,
                      "Compaction needs LAKEPROXY_ENGINE_EXTENSIONS, which is not set.");
  }
  if (busy_.exchange(true)) {
    return base::fail(ErrorKind::kUnavailable,
                      "Another table is being compacted by this process; ask again later.");
  }
  return Place(&busy_);
}

base::Task<base::Result<CompactionDone>> Compactor::run(base::RequestContext context,
                                                        [[maybe_unused]] const Place* place,
                                                        CompactionJob job) {
  co_return co_await thread_.run([this, deadline = context.deadline, job = std::move(job)] {
    return Steps(access_, deadline, job).run();
  });
}

}  // namespace lake::exporter
