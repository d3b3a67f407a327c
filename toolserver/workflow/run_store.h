#pragma once

// Where runs outlive the process: one file for each, in a folder of its
// principal. A file only grows, line by line, and is removed whole when its time
// is over, so that no answer of a tool lies about longer than it should.
//
//   <folder>/<SHA-256 of the principal>/<run>.jsonl
//
// The first line says what is run; each later one is a Record. A line that a
// crash cut off is cut off here too: what it would have said had not happened.
// Why this is no database: docs/adr/0152.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/core/clock.h"
#include "base/json/json.h"
#include "base/runtime/task.h"
#include "base/runtime/workers.h"
#include "toolserver/audit/segment.h"
#include "toolserver/model/ulid.h"
#include "toolserver/outcomes/outcome_folder.h"
#include "toolserver/workflow/run.h"

namespace tool::workflow {

struct StoreOptions {
  std::string folder;
  outcomes::Durability durability = outcomes::Durability::kWritten;
  std::chrono::seconds retention{86'400};  ///< After the last line of a run.
  std::size_t runs = 1'024;                ///< Of all principals; each may have half.
  std::chrono::milliseconds sweep{30'000};
  /// Before (false) and after (true) each line is written. For tests that end the
  /// process there.
  std::function<void(bool written)> watch = {};
};

/// Whose run it is, and which.
struct RunName {
  std::string principal;  ///< Of pipeline::key_of().
  Ulid id;
  friend auto operator<=>(const RunName&, const RunName&) = default;
};

/// What a run was started with: its first line.
struct Start {
  base::json::Object workflow;
  base::json::Value input;
  base::WallTime at{};
  std::string tool = {};  ///< By a call of which it was started; empty: by flow.run.

  /// Over workflow and input; a run that is started again must be the same.
  [[nodiscard]] std::string digest() const;
};

/// A run's file, open to be written by whoever drives it.
class RunFile {
 public:
  [[nodiscard]] std::uint64_t size() const { return segment_.size(); }

 private:
  friend class RunStore;
  explicit RunFile(audit::Segment segment) : segment_(std::move(segment)) {}
  audit::Segment segment_;
};

/// Safe from any thread. Nobody may wait in a task of it when it is destroyed.
class RunStore {
 public:
  /// Blocks. Errors: kConflict  another process holds the folder; kUnavailable
  ///         it cannot be used.
  [[nodiscard]] static base::Result<std::unique_ptr<RunStore>> open(StoreOptions options,
                                                                    const base::Clock& clock);
  ~RunStore();
  RunStore(const RunStore&) = delete;
  RunStore& operator=(const RunStore&) = delete;

  struct Loaded {
    Start start;
    Run run;
    std::uint64_t size = 0;       ///< Bytes of whole lines.
    base::WallTime changed = {};  ///< When the last line was written.
  };
  /// Nothing: the principal has no such run.
  /// Errors: E_INTERNAL  its file cannot be read or breaks its form.
  [[nodiscard]] base::Task<Outcome<std::optional<Loaded>>> load(RunName name);

  /// Makes the file, with its first line.
  /// Errors: E_BUSY  no room for another run, or it cannot be written.
  [[nodiscard]] base::Task<Outcome<std::unique_ptr<RunFile>>> create(RunName name, Start start);
  /// Opens the file of a loaded run to go on. Errors: E_BUSY  it cannot be written.
  [[nodiscard]] base::Task<Outcome<std::unique_ptr<RunFile>>> resume(RunName name,
                                                                     std::uint64_t size);
  /// All of the records or none. `file` outlives the task; one call at a time.
  /// Errors: E_BUSY  they cannot be written.
  [[nodiscard]] base::Task<Outcome<void>> append(RunFile& file, std::vector<Record> records);

  /// One who drives a run: nobody else does until it is destroyed.
  class Driving {
   public:
    Driving(RunStore& store, RunName name) : store_(store), name_(std::move(name)) {}
    ~Driving();
    Driving(const Driving&) = delete;
    Driving& operator=(const Driving&) = delete;
    [[nodiscard]] bool is_cancelled() const { return cancelled_.load(); }
    /// The run is to be taken back; from any thread.
    void cancel();
    /// Called from any thread when the run is to be cancelled.
    void on_cancel(std::function<void()> call);

   private:
    friend class RunStore;
    RunStore& store_;
    const RunName name_;
    std::atomic<bool> cancelled_ = false;
    std::mutex mutex_;
    std::function<void()> wake_;
  };
  /// Null: somebody drives it.
  [[nodiscard]] std::shared_ptr<Driving> drive(const RunName& name);
  /// Tells who drives it to take it back. False: nobody does.
  [[nodiscard]] bool cancel(const RunName& name);
  [[nodiscard]] bool is_driven(const RunName& name);

  /// How long a run is kept after its last line.
  [[nodiscard]] std::chrono::seconds retention() const { return options_.retention; }

  /// Removes what is over its time; called by a thread of the store, too.
  void sweep();

 private:
  RunStore(StoreOptions options, const base::Clock& clock, audit::FolderLock lock);
  [[nodiscard]] std::string folder_of(const std::string& principal) const;
  [[nodiscard]] std::string path_of(const RunName& name) const;
  void count_files();
  void keep_sweeping();
  Outcome<std::optional<Loaded>> load_now(const RunName& name) const;
  Outcome<std::unique_ptr<RunFile>> create_now(const RunName& name, const Start& start);
  Outcome<std::unique_ptr<RunFile>> resume_now(const RunName& name, std::uint64_t size) const;
  Outcome<void> append_now(RunFile& file, const std::vector<Record>& records) const;
  base::Status write(audit::Segment& segment, const std::string& line) const;

  const StoreOptions options_;
  const base::Clock& clock_;
  audit::FolderLock lock_;
  base::BlockingPool pool_{2};  // Of those who write.
  base::BlockingPool reads_{
      2};  // Apart: whoever looks at large runs again and again stops no step.

  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, std::size_t> counts_;  // Files of each folder of a principal.
  std::map<RunName, std::weak_ptr<Driving>> driven_;
  bool is_ending_ = false;
  std::thread sweeping_;  // Last: it uses all of the above.
};

}  // namespace tool::workflow
