#pragma once

// Whoever lost a connection with a call under way asks two things: did it run,
// and may I send it again? Here stands every call that passed the checks, for a
// while: with an idempotency key until its time is over, with its answer;
// without one as long as there is room, without.
//
// A record of a key is never given up for another one: what a key promises
// would be gone. When there is no room the newcomer is refused.
// Source: docs/wire-3.0.md, sections 9.1 and 9.2; docs/adr/0140.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/core/clock.h"
#include "base/runtime/task.h"
#include "base/runtime/workers.h"
#include "toolserver/outcomes/outcome.h"
#include "toolserver/outcomes/outcome_folder.h"

namespace tool::outcomes {

struct StoreOptions {
  std::string folder;  ///< Of the records of keys; empty: they end with the process.
  Durability durability = Durability::kWritten;
  std::chrono::seconds retention{3'600};  ///< After the end of a call.
  std::size_t records = 16'384;           ///< With a key; without one as many.
  std::size_t bytes = 64 << 20;           ///< Of all answers that are kept.
  std::size_t answer_bytes = 1 << 20;     ///< Of one; a larger one is not kept.
  std::chrono::milliseconds sweep{1'000};
};

/// A call that an earlier process made without a key; see audit::past_calls().
struct Past {
  CallName name;
  base::WallTime began{};
  std::optional<Ended> ended;  ///< Nothing: nobody knows.
};

enum class State : std::uint8_t { kNever, kRunning, kFinished, kUnknown };
[[nodiscard]] std::string_view name(State state);

/// What is told of a call to its own principal.
struct Seen {
  State state = State::kNever;
  base::WallTime since{};  ///< Every call that was begun later is known.
  std::string tool;
  base::WallTime began{};
  bool has_key = false;
  std::optional<Ended> ended;
};

/// What becomes of a key whose call was begun, and nobody here knows how it ended.
enum class Unknown : std::uint8_t {
  kStays,      ///< So it is told, and the call is not made again.
  kAskedAgain  ///< The tool keeps keys itself, so the call is made again under this one.
};

/// How a key is claimed.
struct Terms {
  Unknown unknown = Unknown::kStays;
  /// How long ago the caller first sent the call; 0: now. Where a record from then might
  /// be gone, a key without one is unknown and not free.
  std::chrono::milliseconds age{};
};

/// An earlier call with the same key and the same arguments.
struct Repeat {
  std::string request_id;
  State state = State::kRunning;  ///< Never kNever.
  std::optional<Ended> ended;     ///< Where it is kFinished.
};

/// Safe from any thread. Nobody may wait in a task of it when it is destroyed.
class OutcomeStore {
 public:
  struct Entry;
  using Ticket = std::shared_ptr<Entry>;

  /// Takes over what is in the folder and `past`, whose calls are all that were
  /// begun after `since`. Blocks.
  /// Errors: kConflict  another process holds the folder; kUnavailable  it cannot
  ///         be used.
  [[nodiscard]] static base::Result<std::unique_ptr<OutcomeStore>> open(StoreOptions options,
                                                                        const base::Clock& clock,
                                                                        std::vector<Past> past,
                                                                        base::WallTime since);
  ~OutcomeStore();
  OutcomeStore(const OutcomeStore&) = delete;
  OutcomeStore& operator=(const OutcomeStore&) = delete;

  /// A call that passed its checks: a ticket for one that may go on, which must
  /// come back through finish(), release() or leave_open(); or what its key stands for
  /// already.
  /// Errors: E_SHAPE  the key was used with other arguments; E_BUSY  no room for
  ///         another key.
  [[nodiscard]] Outcome<std::variant<Ticket, Repeat>> claim(CallName name, Terms terms = {});

  /// Before the tool begins; from here on the record outlives the process.
  /// Errors: kUnavailable  it cannot be written; the ticket is released.
  [[nodiscard]] base::Task<base::Status> begin(Ticket ticket);

  /// The call has ended. In memory it has, whatever becomes of the file.
  /// Errors: kUnavailable  the file cannot be written: after a restart nobody
  ///         will know how it ended.
  [[nodiscard]] base::Task<base::Status> finish(Ticket ticket, Ended ended);

  /// The tool did not begin: as if the call had never come. One that was asked for
  /// again is as unknown as before.
  [[nodiscard]] base::Task<base::Status> release(Ticket ticket);

  /// The tool began, and nobody knows how it ended: as after a crash.
  void leave_open(const Ticket& ticket);

  /// Since the call of the ticket was first begun; 0 of one that is new.
  [[nodiscard]] std::chrono::milliseconds age(const Ticket& ticket) const;

  /// The call of `principal` with this id.
  [[nodiscard]] Seen look_up(const std::string& principal, const std::string& request_id);

  /// Forgets what is over its time; called by a thread of the store, too.
  void sweep();
  /// What an operator should know of the start: sentences without secrets.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  // The calls of one principal.
  struct Caller {
    std::deque<Ticket> plain;  // Without a key, oldest first.
    std::size_t keyed = 0;
    base::WallTime since{};
  };

  OutcomeStore(StoreOptions options, const base::Clock& clock, std::optional<OutcomeFolder> folder,
               base::WallTime since);
  void take_over(std::vector<OutcomeFolder::File> files, std::vector<Past> past);
  void take_over(OutcomeFolder::File file);
  void keep_sweeping();
  void sweep_locked(base::WallTime now);
  void add(const Ticket& entry);
  void drop(const Ticket& entry);
  void drop_plain(const Ticket& entry);
  void expire_at(const Ticket& entry, base::WallTime time);
  void ask_again(const Ticket& entry, std::string request_id);
  [[nodiscard]] bool surely_had_record(base::WallTime now, std::chrono::milliseconds age) const;
  [[nodiscard]] bool has_room_for_key(const std::string& principal) const;
  [[nodiscard]] base::Task<base::Status> write(Ticket entry, Kept kept);
  [[nodiscard]] base::Task<base::Status> off_loop(std::function<base::Status()> work);

  const StoreOptions options_;
  const base::Clock& clock_;
  const base::WallTime opened_;
  std::optional<OutcomeFolder> folder_;
  base::BlockingPool pool_{2};
  std::vector<std::string> notes_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::unordered_map<std::string, Ticket> by_key_;  // By key_digest().
  std::unordered_map<std::string, Ticket> by_id_;   // By principal and id.
  std::map<std::string, Caller> callers_;
  std::list<Ticket> plain_;                     // Of all, oldest first.
  std::multimap<base::WallTime, Ticket> ends_;  // Of keys: when each is forgotten.
  std::size_t keyed_ = 0;
  std::size_t bytes_ = 0;
  base::WallTime since_;
  bool is_ending_ = false;
  std::thread sweeping_;  // Last: it uses all of the above.
};

}  // namespace tool::outcomes
