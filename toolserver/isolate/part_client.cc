#include "toolserver/isolate/part_client.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "toolserver/isolate/frame.h"
#include "toolserver/isolate/launch.h"

namespace tool::isolate {
namespace {

namespace asio = boost::asio;
using base::ErrorKind;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kFirstPause{100};
// A child that lived for so long did not die of its beginning.
constexpr std::chrono::seconds kSettled{30};
constexpr milliseconds kReport{500};

// Of one caller. The timer and the answer belong to its loop, the rest to the
// supervisor's mutex.
struct Call {
  explicit Call(asio::any_io_executor executor)
      : loop(std::move(executor)), timer(loop, steady_clock::time_point::max()) {}

  const asio::any_io_executor loop;
  asio::steady_timer timer;
  std::optional<base::Result<std::string>> answer;
  std::optional<std::string> note;
  bool sent = false;
};
using CallPtr = std::shared_ptr<Call>;

void give(const CallPtr& call, base::Result<std::string> answer) {
  asio::post(call->loop, [call, answer = std::move(answer)]() mutable {
    call->answer.emplace(std::move(answer));
    call->timer.cancel();
  });
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  return fmt::format("code {}", WEXITSTATUS(status));
}

}  // namespace

/// What goes to a child is written by whoever asks, as far as the channel takes it
/// at once, so that a call need not wake a thread here before it wakes one there.
/// The rest is left to two threads: one starts children and reads what they say,
/// one writes what had to wait. A child that does not read holds up the second alone.
class PartClient::Supervisor {
 public:
  explicit Supervisor(PartOptions options) : options_(std::move(options)) {}
  ~Supervisor();

  base::Status start();
  base::Result<std::uint64_t> add(const CallPtr& call, std::string request);
  void cancel(std::uint64_t id);
  void give_up(std::uint64_t id);
  std::optional<std::string> note_of(const CallPtr& call);
  [[nodiscard]] const PartOptions& options() const { return options_; }

 private:
  struct Waiting {
    enum class Kind : std::uint8_t { kRequest, kRestOfOne, kCancel };
    std::uint64_t id;
    std::string bytes;
    Kind kind;
  };
  using Lock = std::unique_lock<std::mutex>;

  void send_or_keep(Lock& lock, Waiting next);
  void write(Lock& lock, Waiting next, int flags);
  void keep(Waiting next, bool first);
  bool withdraw(std::uint64_t id);
  void supervise();
  base::Status live(bool after_failure, bool& opened);
  base::Status converse(int channel, bool after_failure, bool& opened);
  base::Status take(Frame frame, bool& opened);
  void write_out();
  void begin_child(const Started& child);
  void end_child();
  void tell(PartEvent event) const {
    if (options_.on_event) options_.on_event(event);
  }
  void tell_first(base::Status status);

  const PartOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_ from here on.
  bool stopping_ = false;
  bool ready_ = false;
  bool writing_ = false;  // Somebody is at the channel, without the mutex.
  bool killed_ = false;
  std::optional<base::Status> first_;
  pid_t pid_ = -1;
  int channel_ = -1;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, CallPtr> calls_;
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;

  std::thread supervisor_;
  std::thread writer_;
};

PartClient::Supervisor::~Supervisor() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    if (pid_ > 0) kill_child(pid_);
  }
  changed_.notify_all();
  if (supervisor_.joinable()) supervisor_.join();
  if (writer_.joinable()) writer_.join();
  for (auto& [id, call] : calls_) give(call, base::fail(ErrorKind::kUnavailable, "has ended"));
}

base::Status PartClient::Supervisor::start() {
  supervisor_ = std::thread([this] { supervise(); });
  writer_ = std::thread([this] { write_out(); });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return first_.has_value(); });
  return *first_;
}

void PartClient::Supervisor::tell_first(base::Status status) {
  {
    std::lock_guard lock(mutex_);
    if (first_) return;
    if (!status) stopping_ = true;
    first_ = std::move(status);
  }
  changed_.notify_all();
}

base::Result<std::uint64_t> PartClient::Supervisor::add(const CallPtr& call, std::string request) {
  Lock lock(mutex_);
  if (waiting_bytes_ + request.size() > options_.waiting_bytes) {
    return base::fail(ErrorKind::kRateLimited, "too much waits for it already");
  }
  std::uint64_t id = ++last_id_;
  calls_[id] = call;
  send_or_keep(
      lock, {id, encode({FrameKind::kRequest, id, std::move(request)}), Waiting::Kind::kRequest});
  return id;
}

void PartClient::Supervisor::keep(Waiting next, bool first) {
  waiting_bytes_ += next.bytes.size();
  if (first) {
    waiting_.push_front(std::move(next));
  } else {
    waiting_.push_back(std::move(next));
  }
  changed_.notify_all();
}

// Never blocks. `lock` holds the mutex, before and after.
void PartClient::Supervisor::send_or_keep(Lock& lock, Waiting next) {
  if (!ready_ || writing_ || !waiting_.empty()) return keep(std::move(next), false);
  write(lock, std::move(next), MSG_DONTWAIT);
}

// Writes to the channel without the mutex; nobody else does meanwhile. What is
// left over waits before all others.
void PartClient::Supervisor::write(Lock& lock, Waiting next, int flags) {
  auto call = calls_.find(next.id);
  if (next.kind == Waiting::Kind::kRequest && call != calls_.end()) call->second->sent = true;
  writing_ = true;
  const int channel = channel_;
  lock.unlock();
  std::size_t sent = 0;
  bool has_ended = false;
  while (sent < next.bytes.size()) {
    ssize_t now =
        ::send(channel, next.bytes.data() + sent, next.bytes.size() - sent, MSG_NOSIGNAL | flags);
    if (now < 0 && errno == EINTR) continue;
    has_ended = now < 0 && errno != EAGAIN;
    if (now < 0) break;
    sent += static_cast<std::size_t>(now);
  }
  // The thread that reads tells of the child's end, and has to see it, too.
  if (has_ended) ::shutdown(channel, SHUT_RDWR);
  lock.lock();
  writing_ = false;
  if (has_ended) ready_ = false;  // Nothing more is lost to that child.
  if (sent < next.bytes.size() && !(has_ended && sent > 0)) {
    if (sent > 0) {
      next.bytes.erase(0, sent);
      next.kind = Waiting::Kind::kRestOfOne;
    } else if (call = calls_.find(next.id); call != calls_.end()) {
      call->second->sent = next.kind != Waiting::Kind::kRequest;
    }
    return keep(std::move(next), true);
  }
  if (!ready_ || !waiting_.empty()) changed_.notify_all();
}

// Whether the child knows of it; a request that was not sent yet is answered here.
bool PartClient::Supervisor::withdraw(std::uint64_t id) {
  auto found = calls_.find(id);
  if (found == calls_.end()) return false;
  if (found->second->sent) return true;
  std::erase_if(waiting_, [&](const Waiting& one) {
    if (one.id == id) waiting_bytes_ -= one.bytes.size();
    return one.id == id;
  });
  give(found->second, base::fail(ErrorKind::kCancelled, "was not begun"));
  calls_.erase(found);
  return false;
}

void PartClient::Supervisor::cancel(std::uint64_t id) {
  Lock lock(mutex_);
  if (!withdraw(id)) return;
  send_or_keep(lock, {id, encode({FrameKind::kCancel, id, {}}), Waiting::Kind::kCancel});
}

void PartClient::Supervisor::give_up(std::uint64_t id) {
  std::lock_guard lock(mutex_);
  if (!withdraw(id) || pid_ <= 0) return;
  killed_ = true;
  kill_child(pid_);
}

std::optional<std::string> PartClient::Supervisor::note_of(const CallPtr& call) {
  std::lock_guard lock(mutex_);
  return std::exchange(call->note, std::nullopt);
}

void PartClient::Supervisor::begin_child(const Started& child) {
  std::lock_guard lock(mutex_);
  pid_ = child.pid;
  channel_ = child.channel.get();
  killed_ = false;
  if (stopping_) kill_child(pid_);
}

// Whoever it was asked for is told; what it was not asked yet goes to the next.
void PartClient::Supervisor::end_child() {
  pid_t pid = -1;
  {
    Lock lock(mutex_);
    ready_ = false;
    kill_child(pid_);
    pid = std::exchange(pid_, -1);
    // Whoever is at the channel leaves it now, so that it can be closed.
    ::shutdown(channel_, SHUT_RDWR);
    changed_.wait(lock, [this] { return !writing_; });
  }
  std::string how = how_it_ended(reap(pid));
  PartEvent event{PartEvent::Kind::kEnded, how, {}};
  {
    std::lock_guard lock(mutex_);
    channel_ = -1;
    if (killed_) event.kind = PartEvent::Kind::kKilled;
    std::erase_if(waiting_, [&](const Waiting& one) {
      if (one.kind == Waiting::Kind::kRequest) return false;
      waiting_bytes_ -= one.bytes.size();
      return true;
    });
    std::erase_if(calls_, [&](const auto& entry) {
      if (!entry.second->sent) return false;
      give(entry.second, base::fail(ErrorKind::kUnavailable, "ended meanwhile").with_detail(how));
      return true;
    });
    if (stopping_) return;
  }
  tell(std::move(event));
}

base::Status PartClient::Supervisor::take(Frame frame, bool& opened) {
  if (frame.kind == FrameKind::kFailed && !opened) {
    return base::fail(ErrorKind::kInvalid, std::move(frame.payload));
  }
  Lock lock(mutex_);
  if (frame.kind == FrameKind::kReady && !opened) {
    opened = ready_ = true;
    if (!first_) first_.emplace();
    changed_.notify_all();
    return {};
  }
  auto found = calls_.find(frame.id);
  bool is_known = opened && found != calls_.end() && found->second->sent;
  if (is_known && frame.kind == FrameKind::kAnswer) {
    CallPtr call = std::move(found->second);
    calls_.erase(found);
    lock.unlock();
    give(call, std::move(frame.payload));
    return {};
  }
  constexpr std::size_t kMostOfNote = 256;
  if (is_known && frame.kind == FrameKind::kProgress && frame.payload.size() <= kMostOfNote) {
    found->second->note = std::move(frame.payload);
    return {};
  }
  return base::fail(ErrorKind::kCorrupt, "it sent what nobody asked for");
}

base::Status PartClient::Supervisor::converse(int channel, bool after_failure, bool& opened) {
  std::string opening = encode({FrameKind::kOpen, 0, options_.opening(after_failure)});
  for (std::size_t sent = 0; sent < opening.size();) {
    ssize_t now = ::send(channel, opening.data() + sent, opening.size() - sent, MSG_NOSIGNAL);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) return base::fail(ErrorKind::kUnavailable, "it ended before it was ready");
    sent += static_cast<std::size_t>(now);
  }
  FrameReader reader(options_.answer_bytes);
  std::vector<char> part(64 << 10);
  for (;;) {
    ssize_t got = ::read(channel, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return base::fail(ErrorKind::kUnavailable, "it ended before it was ready");
    reader.add({part.data(), static_cast<std::size_t>(got)});
    for (;;) {
      ASSIGN_OR_RETURN(auto frame, reader.next());
      if (!frame) break;
      RETURN_IF_ERROR(take(*std::move(frame), opened));
    }
  }
}

// One child, from its start to its end. An error where it never was ready.
base::Status PartClient::Supervisor::live(bool after_failure, bool& opened) {
  ASSIGN_OR_RETURN(Started child, launch(RoleLaunch{options_.role, options_.walls}));
  begin_child(child);
  tell({PartEvent::Kind::kStarted, {}, child.missing});
  auto ended = converse(child.channel.get(), after_failure, opened);
  end_child();
  return ended;
}

void PartClient::Supervisor::supervise() {
  milliseconds pause{0};
  bool after_failure = false;
  for (;;) {
    auto began = steady_clock::now();
    bool opened = false;
    auto ended = live(after_failure, opened);
    after_failure = !opened;
    if (!opened) {
      tell_first(std::move(ended).error());
      tell({PartEvent::Kind::kFailed, "it does not begin", {}});
    }
    bool settled = opened && steady_clock::now() - began > kSettled;
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, settled ? milliseconds(0) : pause, [this] { return stopping_; })) {
      return;
    }
    pause = settled ? milliseconds(0)
                    : std::min(std::max(2 * pause, kFirstPause), options_.longest_pause);
  }
}

void PartClient::Supervisor::write_out() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || (ready_ && !writing_ && !waiting_.empty()); });
    if (stopping_) return;
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= next.bytes.size();
    // What was begun is brought to its end, or the child could read nothing after it.
    if (!calls_.contains(next.id) && next.kind != Waiting::Kind::kRestOfOne) continue;
    write(lock, std::move(next), 0);
  }
}

PartClient::PartClient(std::unique_ptr<Supervisor> supervisor)
    : supervisor_(std::move(supervisor)) {}
PartClient::~PartClient() = default;

base::Result<std::unique_ptr<PartClient>> PartClient::start(PartOptions options) {
  auto supervisor = std::make_unique<Supervisor>(std::move(options));
  RETURN_IF_ERROR(supervisor->start());
  return std::unique_ptr<PartClient>(new PartClient(std::move(supervisor)));
}

base::Task<base::Result<std::string>> PartClient::call(
    std::string request, base::Deadline deadline,
    std::function<void(const std::string&)> on_progress) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  Supervisor& supervisor = *supervisor_;
  auto call = std::make_shared<Call>(co_await asio::this_coro::executor);
  CO_ASSIGN_OR_RETURN(std::uint64_t id, supervisor.add(call, std::move(request)));
  bool cancelled = false;
  bool killed = false;
  auto most = deadline == base::Deadline::max() ? deadline : deadline + supervisor.options().grace;
  while (!call->answer) {
    auto now = steady_clock::now();
    auto state = co_await asio::this_coro::cancellation_state;
    if (!cancelled && state.cancelled() != asio::cancellation_type::none) {
      cancelled = true;
      co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
      most = std::min(most, now + supervisor.options().grace);
      supervisor.cancel(id);
    }
    if (!killed && now >= most) {
      killed = true;
      supervisor.give_up(id);
    }
    auto next = on_progress ? now + kReport : base::Deadline::max();
    call->timer.expires_at(killed ? now + kReport : std::min(next, most));
    co_await call->timer.async_wait(asio::as_tuple(asio::use_awaitable));
    if (call->answer || !on_progress) continue;
    if (auto note = supervisor.note_of(call)) on_progress(*note);
  }
  if (!*call->answer && killed) {
    co_return cancelled ? base::fail(ErrorKind::kCancelled, "did not end in time")
                        : base::fail(ErrorKind::kTimeout, "did not end in time");
  }
  co_return *std::move(call->answer);
}

}  // namespace tool::isolate
