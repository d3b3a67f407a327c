#include "toolserver/outcomes/outcome_store.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace tool::outcomes {

struct OutcomeStore::Entry {
  CallName name;
  std::string digest;  // Of the key; empty without one.
  base::WallTime began{};
  State state = State::kRunning;
  bool is_gone = false;
  bool is_again = false;  // It was unknown, and is asked for once more.
  std::optional<Ended> ended;
  std::size_t bytes = 0;              // Of `ended`, in the sum of the store.
  std::list<Ticket>::iterator place;  // Without a key: in plain_.
  std::deque<std::string> repeats;    // Ids by which it was asked for again, too.
};

namespace {

// Between a node that says how old a call is, and this one.
constexpr std::chrono::seconds kTravel{5};
constexpr std::size_t kRepeats = 16;

// The length keeps ("a", "bc") and ("ab", "c") apart.
std::string id_key(const std::string& principal, const std::string& request_id) {
  return std::to_string(request_id.size()) + ':' + request_id + principal;
}

Fault no_room() {
  Fault fault = refuse(Code::kBusy, "no room for the records of further calls with a key");
  fault.retry_after = std::chrono::milliseconds(1'000);
  return fault;
}

}  // namespace

std::string_view name(State state) {
  switch (state) {
    case State::kNever: return "never";
    case State::kRunning: return "running";
    case State::kFinished: return "finished";
    case State::kUnknown: return "unknown";
  }
  return "";
}

OutcomeStore::OutcomeStore(StoreOptions options, const base::Clock& clock,
                           std::optional<OutcomeFolder> folder, base::WallTime since)
    : options_(std::move(options)),
      clock_(clock),
      opened_(clock.now()),
      folder_(std::move(folder)),
      since_(since) {}

base::Result<std::unique_ptr<OutcomeStore>> OutcomeStore::open(StoreOptions options,
                                                               const base::Clock& clock,
                                                               std::vector<Past> past,
                                                               base::WallTime since) {
  std::optional<OutcomeFolder> folder;
  std::vector<OutcomeFolder::File> files;
  if (!options.folder.empty()) {
    ASSIGN_OR_RETURN(auto opened, OutcomeFolder::open(options.folder, options.durability));
    folder.emplace(std::move(opened));
    ASSIGN_OR_RETURN(files, folder->read_all());
  }
  std::unique_ptr<OutcomeStore> made(
      new OutcomeStore(std::move(options), clock, std::move(folder), since));
  made->take_over(std::move(files), std::move(past));
  made->sweeping_ = std::thread([raw = made.get()] { raw->keep_sweeping(); });
  return made;
}

OutcomeStore::~OutcomeStore() {
  {
    std::lock_guard held(mutex_);
    is_ending_ = true;
  }
  wake_.notify_all();
  if (sweeping_.joinable()) sweeping_.join();
}

// What was begun and has no end is unknown, and so is what cannot be read: its
// name alone keeps the call from being made again.
void OutcomeStore::take_over(OutcomeFolder::File file) {
  auto kept = read_kept(file.text);
  auto entry = std::make_shared<Entry>();
  entry->digest = file.name;
  entry->state = State::kUnknown;
  base::WallTime end = file.changed;
  entry->began = file.changed;  // At the latest.
  if (kept) {
    entry->name = std::move(kept->name);
    entry->began = kept->began;
    end = kept->began;
  } else {
    notes_.push_back("the record of a call cannot be read, so the call is taken for begun: " +
                     file.name);
  }
  if (kept && kept->ended) {
    entry->state = State::kFinished;
    end = kept->ended_at;
    entry->ended = std::move(kept->ended);
    entry->bytes = entry->ended->size();
    if (bytes_ + entry->bytes > options_.bytes) {
      entry->ended->answer.reset();
      entry->bytes = 0;
    }
  }
  add(entry);
  expire_at(entry, end + options_.retention);
}

void OutcomeStore::take_over(std::vector<OutcomeFolder::File> files, std::vector<Past> past) {
  std::lock_guard held(mutex_);
  for (auto& file : files) take_over(std::move(file));
  for (auto& one : past) {
    if (by_id_.contains(id_key(one.name.principal, one.name.request_id))) continue;
    auto entry = std::make_shared<Entry>();
    entry->name = std::move(one.name);
    entry->name.key.clear();
    entry->began = one.began;
    entry->state = one.ended ? State::kFinished : State::kUnknown;
    entry->ended = std::move(one.ended);
    add(entry);
  }
  sweep_locked(clock_.now());
}

void OutcomeStore::add(const Ticket& entry) {
  const auto& name = entry->name;
  Caller& caller = callers_[name.principal];
  if (!name.request_id.empty()) by_id_[id_key(name.principal, name.request_id)] = entry;
  if (!entry->digest.empty()) {
    by_key_[entry->digest] = entry;
    bytes_ += entry->bytes;
    ++keyed_;
    ++caller.keyed;
    return;
  }
  entry->place = plain_.insert(plain_.end(), entry);
  caller.plain.push_back(entry);
  if (caller.plain.size() > std::max<std::size_t>(options_.records / 2, 1)) {
    caller.since = std::max(caller.since, caller.plain.front()->began);
    drop_plain(Ticket(caller.plain.front()));
  }
  if (plain_.size() > options_.records) {
    since_ = std::max(since_, plain_.front()->began);
    drop_plain(Ticket(plain_.front()));
  }
}

// The oldest of its principal.
void OutcomeStore::drop_plain(const Ticket& entry) {
  auto caller = callers_.find(entry->name.principal);
  auto& plain = caller->second.plain;
  if (plain.front() == entry) {
    plain.pop_front();
  } else {  // One that did not begin, among the last.
    plain.erase(std::prev(std::find(plain.rbegin(), plain.rend(), entry).base()));
  }
  plain_.erase(entry->place);
  drop(entry);
}

// What both kinds have in common.
void OutcomeStore::drop(const Ticket& entry) {
  entry->is_gone = true;
  const auto& name = entry->name;
  auto by_id = by_id_.find(id_key(name.principal, name.request_id));
  if (by_id != by_id_.end() && by_id->second == entry) by_id_.erase(by_id);
  for (const auto& id : entry->repeats) by_id_.erase(id_key(name.principal, id));
  auto caller = callers_.find(name.principal);
  if (!entry->digest.empty()) {
    by_key_.erase(entry->digest);
    bytes_ -= entry->bytes;
    --keyed_;
    --caller->second.keyed;
  }
  const Caller& left = caller->second;
  if (left.plain.empty() && left.keyed == 0 && left.since <= since_) callers_.erase(caller);
}

void OutcomeStore::expire_at(const Ticket& entry, base::WallTime time) {
  ends_.emplace(time, entry);
}

bool OutcomeStore::has_room_for_key(const std::string& principal) const {
  if (keyed_ >= options_.records) return false;
  auto caller = callers_.find(principal);
  return caller == callers_.end() ||
         caller->second.keyed < std::max<std::size_t>(options_.records / 2, 1);
}

// Whether a call with a key that was begun so long ago would still be known.
bool OutcomeStore::surely_had_record(base::WallTime now, std::chrono::milliseconds age) const {
  return age + kTravel < options_.retention && (folder_ || now - age > opened_);
}

// The record stays as it was written, and runs. Who asks for either id finds it.
void OutcomeStore::ask_again(const Ticket& entry, std::string request_id) {
  std::erase_if(ends_, [&](const auto& one) { return one.second == entry; });
  entry->state = State::kRunning;
  entry->is_again = true;
  if (entry->repeats.size() >= kRepeats) {
    by_id_.erase(id_key(entry->name.principal, entry->repeats.front()));
    entry->repeats.pop_front();
  }
  by_id_[id_key(entry->name.principal, request_id)] = entry;
  entry->repeats.push_back(std::move(request_id));
}

Outcome<std::variant<OutcomeStore::Ticket, Repeat>> OutcomeStore::claim(CallName name,
                                                                        Terms terms) {
  using Claimed = std::variant<Ticket, Repeat>;
  auto entry = std::make_shared<Entry>();
  if (!name.key.empty()) entry->digest = key_digest(name);
  entry->began = clock_.now();
  std::lock_guard held(mutex_);
  sweep_locked(entry->began);
  if (!entry->digest.empty()) {
    if (auto found = by_key_.find(entry->digest); found != by_key_.end()) {
      Entry& before = *found->second;
      // Of a record that cannot be read the arguments are not known.
      if (!before.name.args_hash.empty() && before.name.args_hash != name.args_hash) {
        return refuse(Code::kShape, "p.idem: was used for a call with other arguments");
      }
      bool is_known = !before.name.args_hash.empty();
      if (before.state == State::kUnknown && is_known && terms.unknown == Unknown::kAskedAgain) {
        ask_again(found->second, std::move(name.request_id));
        return Claimed(found->second);
      }
      return Claimed(Repeat{before.name.request_id, before.state, before.ended});
    }
    if (terms.age.count() > 0 && !surely_had_record(entry->began, terms.age)) {
      return Claimed(Repeat{{}, State::kUnknown, std::nullopt});
    }
    if (!has_room_for_key(name.principal)) return no_room();
  }
  entry->name = std::move(name);
  entry->name.key.clear();
  add(entry);
  return Claimed(std::move(entry));
}

// A task of its own: a pool's work cannot be cancelled, and what it says of that
// would hold for the rest of the caller's.
base::Task<base::Status> OutcomeStore::off_loop(std::function<base::Status()> work) {
  auto loop = co_await boost::asio::this_coro::executor;
  auto task = pool_.run(std::move(work));
  co_return co_await boost::asio::co_spawn(loop, std::move(task), boost::asio::use_awaitable);
}

base::Task<base::Status> OutcomeStore::write(Ticket entry, Kept kept) {
  if (!folder_ || entry->digest.empty()) co_return base::Status();
  auto work = [this, entry, kept = std::move(kept)]() -> base::Status {
    return folder_->write(entry->digest, write_kept(kept));
  };
  co_return co_await off_loop(std::move(work));
}

base::Task<base::Status> OutcomeStore::begin(Ticket ticket) {
  Kept kept{ticket->name, ticket->began, {}, {}};
  auto written = co_await write(ticket, std::move(kept));
  if (written) co_return base::Status();
  std::ignore = co_await release(ticket);  // What could not be written is what is told.
  co_return std::move(written).error();
}

base::Task<base::Status> OutcomeStore::finish(Ticket ticket, Ended ended) {
  bool has_key = !ticket->digest.empty();
  std::size_t bytes = ended.size();
  base::WallTime now = clock_.now();
  {
    std::lock_guard held(mutex_);
    if (ticket->is_gone) co_return base::Status();  // Without a key, and long ago.
    if (!has_key || bytes > options_.answer_bytes || bytes_ + bytes > options_.bytes) {
      ended.answer.reset();
      if (!has_key) ended.fault.reset();
      bytes = 0;
    }
    ticket->bytes = bytes;
    bytes_ += bytes;
  }
  Kept kept{ticket->name, ticket->began, now, ended};
  auto written = co_await write(ticket, std::move(kept));
  std::lock_guard held(mutex_);
  ticket->state = State::kFinished;
  ticket->ended = std::move(ended);
  if (has_key) expire_at(ticket, now + options_.retention);
  co_return written;
}

void OutcomeStore::leave_open(const Ticket& ticket) {
  std::lock_guard held(mutex_);
  if (ticket->is_gone) return;
  ticket->state = State::kUnknown;
  if (!ticket->digest.empty()) expire_at(ticket, ticket->began + options_.retention);
}

std::chrono::milliseconds OutcomeStore::age(const Ticket& ticket) const {
  if (!ticket->is_again) return {};
  auto age = std::chrono::ceil<std::chrono::milliseconds>(clock_.now() - ticket->began);
  return std::max(age, std::chrono::milliseconds(1));
}

base::Task<base::Status> OutcomeStore::release(Ticket ticket) {
  if (ticket->is_again) {
    leave_open(ticket);
    co_return base::Status();
  }
  // The file goes first: until then the key is taken.
  base::Status removed;
  if (folder_ && !ticket->digest.empty()) {
    auto work = [this, ticket]() -> base::Status { return folder_->remove(ticket->digest); };
    removed = co_await off_loop(std::move(work));
  }
  std::lock_guard held(mutex_);
  if (ticket->is_gone) co_return removed;
  if (ticket->digest.empty()) {
    drop_plain(ticket);
  } else {
    drop(ticket);
  }
  co_return removed;
}

Seen OutcomeStore::look_up(const std::string& principal, const std::string& request_id) {
  std::lock_guard held(mutex_);
  sweep_locked(clock_.now());
  Seen seen;
  seen.since = since_;
  auto caller = callers_.find(principal);
  if (caller != callers_.end()) seen.since = std::max(seen.since, caller->second.since);
  auto found = by_id_.find(id_key(principal, request_id));
  if (found == by_id_.end()) return seen;
  const Entry& entry = *found->second;
  seen.state = entry.state;
  seen.tool = entry.name.tool;
  seen.began = entry.began;
  seen.has_key = !entry.digest.empty();
  seen.ended = entry.ended;
  return seen;
}

void OutcomeStore::sweep() {
  std::lock_guard held(mutex_);
  sweep_locked(clock_.now());
}

void OutcomeStore::sweep_locked(base::WallTime now) {
  while (!ends_.empty() && ends_.begin()->first <= now) {
    Ticket entry = ends_.begin()->second;
    ends_.erase(ends_.begin());
    // Under the lock, so that nobody writes a new record under this name before.
    if (folder_ && !folder_->remove(entry->digest)) {
      expire_at(entry, now + options_.sweep);  // It keeps its key, and is tried again.
    } else {
      since_ = std::max(since_, entry->began);
      drop(entry);
    }
  }
  while (!plain_.empty() && plain_.front()->began + options_.retention <= now) {
    since_ = std::max(since_, plain_.front()->began);
    drop_plain(Ticket(plain_.front()));
  }
}

void OutcomeStore::keep_sweeping() {
  std::unique_lock held(mutex_);
  while (!is_ending_) {
    wake_.wait_for(held, options_.sweep, [this] { return is_ending_; });
    if (!is_ending_) sweep_locked(clock_.now());
  }
}

}  // namespace tool::outcomes
