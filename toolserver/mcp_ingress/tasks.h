#pragma once

// The tasks of all event loops: whose they are, how many one caller may have, and
// when what they answered is forgotten. What outlives the process is in records of
// the calls themselves, not here.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/core/clock.h"
#include "toolserver/mcp_ingress/changes.h"
#include "toolserver/mcp_ingress/live_task.h"
#include "toolserver/transport/open_sessions.h"

namespace tool::mcp_ingress {

struct TaskLimits {
  std::size_t of_principal = 32;              ///< That run or wait; 0: there are no tasks.
  std::chrono::milliseconds time{3'600'000};  ///< Of one; it is kept as long again.
  std::chrono::milliseconds patience{1'000};  ///< A call that takes longer becomes one.
};

/// Safe to use from any thread.
class Tasks {
 public:
  static constexpr std::size_t kMostEnded = 4'096;
  static constexpr std::size_t kMostBytes = 64 << 20;  ///< Of answers; of one principal half.

  /// All outlive it, and it the loops that its tasks are of.
  Tasks(const base::Clock& clock, base::Random& random, transport::OpenSessions& open,
        Changes& changes)
      : clock_(clock), random_(random), open_(open), changes_(changes) {}

  /// A task for a call that is about to be made, or the one of that name which is there.
  struct Asked {
    std::string id = {};  ///< Empty: a new one, which nobody can guess.
    Caller creator;
    std::string scope;
    std::string peer;
    LiveTask::Lasts lasts = LiveTask::Lasts::kNo;
    base::WallTime created = {};          ///< Of one that has an id.
    std::chrono::milliseconds life = {};  ///< Likewise.
  };
  /// Null: the principal has as many as it may, or the service stops.
  struct Opened {
    std::shared_ptr<LiveTask> task;
    bool is_new = false;
  };
  [[nodiscard]] Opened open(Asked asked, const TaskLimits& limits,
                            const boost::asio::any_io_executor& loop,
                            std::shared_ptr<ClientSide> asked_by);
  /// On the task's loop; once.
  void run(const std::shared_ptr<LiveTask>& task, base::Task<Reply> work);
  /// Null: the principal has none of that id here.
  [[nodiscard]] std::shared_ptr<LiveTask> find(const std::string& principal, const std::string& id);
  /// It has ended, and nobody asks for it any more.
  void forget(const std::shared_ptr<LiveTask>& task);

  /// Opens no more, waits for those that run until `deadline`, ends them, and waits for
  /// them. Blocks; on no event loop.
  void stop(base::Deadline deadline);

 private:
  using Name = std::pair<std::string, std::string>;  // Principal and id.
  struct Slot {
    std::shared_ptr<LiveTask> task;
    std::unique_ptr<transport::OpenSessions::Entry> entry;  // Null when it has ended.
    std::list<Name>::iterator place;                        // In ended_, then.
    std::size_t bytes = 0;                                  // Likewise.
  };
  // What one principal has.
  struct Owned {
    std::size_t slots = 0;
    std::size_t running = 0;  // Of these.
    std::size_t bytes = 0;    // Of answers.
  };
  using Slots = std::map<Name, Slot>;
  [[nodiscard]] Slots::iterator find_slot(const Name& name);
  void ended(const Name& name);
  void drop(Slots::iterator slot);
  void make_room(const std::string& principal);

  const base::Clock& clock_;
  base::Random& random_;
  transport::OpenSessions& open_;
  Changes& changes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // All guarded by mutex_.
  Slots slots_;
  std::list<Name> ended_;  // Oldest end first.
  std::map<std::string, Owned> owned_;
  std::size_t running_ = 0;
  std::size_t bytes_ = 0;
  bool is_stopping_ = false;
};

/// What a dispatcher needs to offer tasks. Outlives it.
struct TaskHost {
  Tasks& tasks;
  TaskLimits limits;
};

}  // namespace tool::mcp_ingress
