#pragma once

// Masked copies are made by the process itself, one after the other on each event loop, in threads
// of the engine that nothing else uses, and never on the path of a request (ADR 0110). A copy is
// put under the name that follows from its file, deletes and signature, and recorded when it is
// there: a process that dies in between leaves an object that the next one finds, or nobody's.
// What cannot be masked is recorded, too.

#include <chrono>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/log/logger.h"
#include "base/metrics/registry.h"
#include "base/postgres/session.h"
#include "base/runtime/task_group.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/to_iceberg/masked/files_to_mask.h"

namespace lake::masked {

/// Of which table a copy is.
struct MaskedTableName {
  std::string metadata_schema;
  model::TableId table;
  std::string signature;
  std::string shown;  ///< For logs.
};

/// One for the process; safe from any thread.
struct MaskWork {
  explicit MaskWork(base::metrics::Registry& metrics);

  base::metrics::Counter made;
  base::metrics::Counter failed;   ///< For good.
  base::metrics::Counter put_off;  ///< The store or the database was away.
  base::metrics::Gauge waiting;    ///< Files.

  std::mutex mutex;
  std::set<std::string> claimed;  ///< Locations that a loop of the process sees to.
};

/// One event loop's. What it is given outlives it, and its tasks end before it goes.
class MaskMaker {
 public:
  /// A copy has several objects where it is larger than `part_bytes`.
  MaskMaker(exporter::Exporter& exporter, base::pg::Pool& pool, base::TaskGroup& tasks,
            MaskWork& work, std::int64_t part_bytes, base::log::Logger log)
      : exporter_(&exporter),
        pool_(&pool),
        tasks_(&tasks),
        work_(&work),
        part_bytes_(part_bytes),
        log_(std::move(log)) {}

  /// Sees to the copies of these files, those that nobody here sees to yet.
  void make(const MaskedTableName& of, const std::vector<FileToMask>& files);
  /// Begins no other copy.
  void stop() { stopping_ = true; }

 private:
  struct Job {
    MaskedTableName of;
    FileToMask file;
  };
  base::Task<void> run();
  base::Task<void> make_one(Job job);
  base::Task<base::Status> record(base::RequestContext context, const Job* job,
                                  base::Result<exporter::MaskedParts> made);

  exporter::Exporter* exporter_;
  base::pg::Pool* pool_;
  base::TaskGroup* tasks_;
  MaskWork* work_;
  std::int64_t part_bytes_;
  base::log::Logger log_;
  std::deque<Job> jobs_;
  bool running_ = false;
  bool stopping_ = false;
};

}  // namespace lake::masked
