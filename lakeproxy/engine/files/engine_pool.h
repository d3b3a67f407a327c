#pragma once

// Work on the embedded engine blocks a thread for as long as it takes. Each kind of work has
// threads of its own, so that a long job of one kind never holds up those of another. They share
// the engine, and so its memory.

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/metrics/registry.h"
#include "base/runtime/task.h"
#include "base/runtime/workers.h"

namespace lake::exporter {

enum class EngineWork {
  kLoad = 31,        ///< What the load of a table waits for: files and looks into files.
  kCommit = 32,      ///< What a client's commit waits for: the rows that its deletes mean.
  kBackground = 33,  ///< The same as kLoad, before anybody asks for it.
  kCopy = 35,        ///< Readable copies of data files. Nobody waits for them.
  kMask = 36,        ///< Masked copies of data files. Nobody waits for them.
  kCount = 34,       ///< NaN counts. A load may wait for them, within a bound of time.
};

/// Called at the beginning of each job, on its thread; it may block. The server has none;
/// see ADR 0012. The numbers go on from those of CompactionStep.
using EngineWatch = std::function<void(EngineWork work)>;

/// What is told of the jobs of one pool.
struct EngineMeter {
  EngineMeter(base::metrics::Registry& metrics, const std::string& work);

  base::metrics::Gauge waiting;
  base::metrics::Gauge running;
  base::metrics::Counter done;
};

/// Safe from any thread. Its owner outlives every task that uses it.
class EnginePool {
 public:
  explicit EnginePool(unsigned threads) : pool_(threads) {}
  /// `watch` may be null, and outlives it.
  EnginePool(unsigned threads, EngineWork work, const EngineMeter& meter, const EngineWatch* watch)
      : pool_(threads), work_(work), meter_(meter), watch_(watch) {}

  /// As BlockingPool::run().
  template <class Call>
  auto run(Call call) -> base::Task<decltype(call())> {
    if (meter_) meter_->waiting.add(1);
    auto job = [this, call = std::move(call)]() mutable {
      const Job shown(*this);
      return call();
    };
    co_return co_await pool_.run(std::move(job));
  }

 private:
  // A job from its beginning to its end.
  struct Job {
    explicit Job(EnginePool& pool) : of(pool) {
      if (of.meter_) of.meter_->waiting.add(-1);
      if (of.meter_) of.meter_->running.add(1);
      if (of.watch_ != nullptr) (*of.watch_)(of.work_);
    }
    ~Job() {
      if (!of.meter_) return;
      of.meter_->running.add(-1);
      of.meter_->done.add();
    }
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    EnginePool& of;
  };

  base::BlockingPool pool_;
  EngineWork work_ = EngineWork::kLoad;
  std::optional<EngineMeter> meter_;
  const EngineWatch* watch_ = nullptr;
};

}  // namespace lake::exporter
