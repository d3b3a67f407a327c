#include "toolserver/mcp_ingress/tasks.h"

#include <algorithm>

#include "toolserver/model/ulid.h"
#include "toolserver/pipeline/rate.h"

namespace tool::mcp_ingress {

using std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kPause{3};

}  // namespace

Tasks::Opened Tasks::open(Asked asked, const TaskLimits& limits,
                          const boost::asio::any_io_executor& loop,
                          std::shared_ptr<ClientSide> asked_by) {
  LiveTask::Facts facts;
  auto now = clock_.now();
  facts.principal = pipeline::key_of(*asked.creator);
  bool is_old = !asked.id.empty();
  facts.id = is_old ? std::move(asked.id) : std::string(Ulid::make(now, random_).text());
  facts.creator = std::move(asked.creator);
  facts.scope = std::move(asked.scope);
  facts.lasts = asked.lasts;
  facts.created = is_old ? asked.created : now;
  facts.life = asked.life.count() > 0 ? asked.life : 2 * limits.time;
  facts.deadline = steady_clock::now() + limits.time;
  Name name{facts.principal, facts.id};
  const Principal& who = *facts.creator;
  transport::OpenSession shown{"mcp:task", who.subject, who.issuer, who.token_id,
                               who.method, asked.peer,  now};

  std::lock_guard held(mutex_);
  if (auto slot = find_slot(name); slot != slots_.end()) return {slot->second.task, false};
  auto owned = owned_.find(name.first);
  std::size_t running = owned == owned_.end() ? 0 : owned->second.running;
  if (is_stopping_ || running >= limits.of_principal) return {};
  auto tell = [this, id = facts.id] { changes_.tell({Change::Kind::kTask, id}); };
  auto task = std::make_shared<LiveTask>(std::move(facts), clock_, loop, std::move(asked_by),
                                         std::move(tell));
  // Whoever takes the credential back ends the work. A change of the rules alone does
  // not: each further step of a run is checked by the rules of then.
  transport::SessionControl control{[weak = std::weak_ptr(task)](Code) {
                                      if (auto live = weak.lock()) {
                                        live->cancel(LiveTask::By::kService);
                                      }
                                    },
                                    [] {}};
  auto entry =
      std::make_unique<transport::OpenSessions::Entry>(open_, std::move(shown), std::move(control));
  Owned& mine = owned_[name.first];
  ++mine.slots;
  ++mine.running;
  ++running_;
  slots_.emplace(std::move(name), Slot{task, std::move(entry), {}, 0});
  return {std::move(task), true};
}

void Tasks::run(const std::shared_ptr<LiveTask>& task, base::Task<Reply> work) {
  Name name{task->facts().principal, task->facts().id};
  task->start(std::move(work), [this, name] { ended(name); });
}

// Without those whose time is over.
Tasks::Slots::iterator Tasks::find_slot(const Name& name) {
  auto slot = slots_.find(name);
  if (slot == slots_.end() || slot->second.entry) return slot;
  const LiveTask& task = *slot->second.task;
  auto now = clock_.now();
  bool is_kept = now < task.facts().created + task.facts().life;
  // What waits is tried again by its record, but not by every look at it.
  if (is_kept && (!task.waits() || now < task.view().changed + kPause)) return slot;
  drop(slot);
  return slots_.end();
}

void Tasks::ended(const Name& name) {
  std::unique_ptr<transport::OpenSessions::Entry> entry;
  std::lock_guard held(mutex_);
  auto slot = slots_.find(name);
  Slot& one = slot->second;
  entry = std::move(one.entry);
  one.bytes = one.task->bytes();
  one.place = ended_.insert(ended_.end(), name);
  Owned& owned = owned_[name.first];
  --owned.running;
  owned.bytes += one.bytes;
  --running_;
  bytes_ += one.bytes;
  make_room(name.first);
  changed_.notify_all();
}

void Tasks::drop(Slots::iterator slot) {
  auto owned = owned_.find(slot->first.first);
  owned->second.bytes -= slot->second.bytes;
  bytes_ -= slot->second.bytes;
  ended_.erase(slot->second.place);
  slots_.erase(slot);
  if (--owned->second.slots == 0) owned_.erase(owned);
}

// The oldest ends are forgotten first; of a principal that has too much, its own.
void Tasks::make_room(const std::string& principal) {
  auto drop_first = [this](const auto& chosen) {
    auto name = std::ranges::find_if(ended_, chosen);
    if (name != ended_.end()) drop(slots_.find(*name));
  };
  while (true) {
    auto owned = owned_.find(principal);
    if (owned == owned_.end() || owned->second.bytes <= kMostBytes / 2) break;
    drop_first([&](const Name& name) { return name.first == principal; });
  }
  while (ended_.size() > kMostEnded || bytes_ > kMostBytes) {
    drop_first([](const Name&) { return true; });
  }
}

std::shared_ptr<LiveTask> Tasks::find(const std::string& principal, const std::string& id) {
  std::lock_guard held(mutex_);
  auto slot = find_slot({principal, id});
  return slot == slots_.end() ? nullptr : slot->second.task;
}

void Tasks::forget(const std::shared_ptr<LiveTask>& task) {
  std::lock_guard held(mutex_);
  auto slot = slots_.find({task->facts().principal, task->facts().id});
  // A later one of that name is another task.
  if (slot != slots_.end() && slot->second.task == task && !slot->second.entry) drop(slot);
}

void Tasks::stop(base::Deadline deadline) {
  std::unique_lock held(mutex_);
  is_stopping_ = true;
  auto none = [this] { return running_ == 0; };
  if (!changed_.wait_until(held, deadline, none)) {
    for (const auto& [name, slot] : slots_) slot.task->cancel(LiveTask::By::kService);
    changed_.wait(held, none);
  }
  // They belong to loops that may go before this.
  ended_.clear();
  owned_.clear();
  slots_.clear();
}

}  // namespace tool::mcp_ingress
