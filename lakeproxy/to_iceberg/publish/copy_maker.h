#pragma once

// Readable copies are made by the process itself, one after the other on each event loop, and
// never on the path of a request (ADR 0098). A copy is put under the name that follows from its
// file and its types, and recorded when it is there: a process that dies in between leaves an
// object that the next one finds, or that nobody names. What cannot be copied is recorded, too.

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log/logger.h"
#include "base/metrics/registry.h"
#include "base/postgres/session.h"
#include "base/runtime/task_group.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/ducklake/table/lake_table.h"

namespace lake::publish {

/// One for the process; safe from any thread.
struct CopyWork {
  CopyWork(std::uint64_t most_bytes, base::metrics::Registry& metrics);

  std::uint64_t most_bytes;  ///< Of one table's files that may wait at once.
  base::metrics::Counter made;
  base::metrics::Counter failed;   ///< For good.
  base::metrics::Counter put_off;  ///< The store or the database was away.
  base::metrics::Gauge waiting;    ///< Files.

  std::mutex mutex;
  std::set<std::string> claimed;  ///< Locations that a loop of the process sees to.
};

/// One event loop's. What it is given outlives it, and its tasks end before it goes.
class CopyMaker {
 public:
  CopyMaker(exporter::Exporter& exporter, base::pg::Pool& pool, base::TaskGroup& tasks,
            CopyWork& work, base::log::Logger log)
      : exporter_(&exporter), pool_(&pool), tasks_(&tasks), work_(&work), log_(std::move(log)) {}

  [[nodiscard]] std::uint64_t most_bytes() const { return work_->most_bytes; }
  /// Sees to the copies of these files of `table`, those that nobody here sees to yet.
  void make(const std::string& metadata_schema, const model::LakeTable& table,
            const std::vector<const model::LakeDataFile*>& files);
  /// Begins no other copy.
  void stop() { stopping_ = true; }

 private:
  struct Job {
    std::string metadata_schema;
    std::string table;
    std::int64_t table_id = 0;
    model::LakeDataFile file;
    std::size_t place = 0;  ///< Among the files of its request, counted from 1,
    std::size_t of = 0;     ///< of so many.
  };
  base::Task<void> run();
  base::Task<void> make_one(Job job);
  void tell(const Job& job, const std::string& failure, bool comes_later);
  base::Task<base::Status> record(base::RequestContext context, const Job* job,
                                  base::Result<std::int64_t> bytes);

  exporter::Exporter* exporter_;
  base::pg::Pool* pool_;
  base::TaskGroup* tasks_;
  CopyWork* work_;
  base::log::Logger log_;
  std::deque<Job> jobs_;
  bool running_ = false;
  bool stopping_ = false;
};

/// Sees to the copies that `changes` lack and leaves only those of its commits that need none of
/// them; says so in `table`. `maker` is null where none are made.
/// Errors: kUnavailable  nothing of the table can be shown before copies are there: says how
///         many are; kUnsupported  a file cannot be copied, or too much waits at once, and
///         nothing can be shown without it (names the table and what to do).
[[nodiscard]] base::Status wait_for_copies(CopyMaker* maker, const std::string& metadata_schema,
                                           model::LakeTable& table, model::LakeChanges& changes);
/// The same, once commits were hidden and none are left.
[[nodiscard]] base::Status check_failed_copies(const model::LakeTable& table,
                                               const model::LakeChanges& changes);

}  // namespace lake::publish
