#include "toolserver/isolate/part.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "toolserver/isolate/frame.h"

namespace tool::isolate {
namespace {

constexpr int kBroken = 3;

/// Answers come from many threads.
class Sender {
 public:
  explicit Sender(int channel) : channel_(channel) {}

  void send(const Frame& frame) {
    std::string bytes = encode(frame);
    std::lock_guard lock(mutex_);
    for (std::size_t sent = 0; sent < bytes.size();) {
      ssize_t now = ::send(channel_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (now < 0 && errno == EINTR) continue;
      if (now < 0) ::_exit(kBroken);  // The parent has gone.
      sent += static_cast<std::size_t>(now);
    }
  }

 private:
  const int channel_;
  std::mutex mutex_;
};

/// Requests under way, by their ids.
class Tickets {
 public:
  // Nothing where the id is taken, or there are too many.
  std::shared_ptr<Ticket> add(std::uint64_t id, std::size_t most,
                              std::function<void(std::string)> tell) {
    std::lock_guard lock(mutex_);
    if (tickets_.size() >= most || tickets_.contains(id)) return nullptr;
    return tickets_[id] = std::make_shared<Ticket>(std::move(tell));
  }
  void cancel(std::uint64_t id) {
    std::lock_guard lock(mutex_);
    auto found = tickets_.find(id);
    if (found != tickets_.end()) found->second->cancel();
  }
  void remove(std::uint64_t id) {
    std::lock_guard lock(mutex_);
    tickets_.erase(id);
  }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Ticket>> tickets_;  // Guarded by mutex_.
};

/// Its threads take turns at the channel: the one that reads a request answers it
/// at once, and another one reads on meanwhile. So no request waits until a thread
/// has been woken or made for it, and a cancellation is read at any time.
class Serving {
 public:
  Serving(int channel, PartLimits limits)
      : channel_(channel), limits_(limits), reader_(limits.request_bytes), sender_(channel) {}

  int run(const PartOpening& open) {
    auto first = next();
    if (!first || first->kind != FrameKind::kOpen) return kBroken;
    auto handler = open(std::move(first->payload));
    if (!handler) {
      sender_.send({FrameKind::kFailed, 0, handler.error().message()});
      return 1;
    }
    sender_.send({FrameKind::kReady, 0, {}});
    ++idle_;
    take_turns(*handler);
  }

 private:
  struct Task {
    std::uint64_t id = 0;
    std::string request;
    std::shared_ptr<Ticket> ticket;
  };

  // Every thread's whole life; who starts it counts it as idle. A new one is made
  // only when all others are at a request, so there is never more than one over
  // the requests under way.
  [[noreturn]] void take_turns(const PartHandler& handler) {
    for (;;) {
      Task task = next_task(handler);
      std::string answer = handler(std::move(task.request), *task.ticket);
      ++idle_;
      // The place is free before the parent can know of it.
      tickets_.remove(task.id);
      sender_.send({FrameKind::kAnswer, task.id, std::move(answer)});
    }
  }

  // The next request, once it is this thread's turn. Another one has the turn
  // after that: one that waits for it, or a new one.
  Task next_task(const PartHandler& handler) {
    std::lock_guard turn(reading_);
    --idle_;
    for (;;) {
      auto frame = next();
      // Threads may still work; what they do is of no more use to anybody.
      if (!frame) ::_exit(0);
      if (frame->kind == FrameKind::kCancel) {
        tickets_.cancel(frame->id);
        continue;
      }
      if (frame->kind != FrameKind::kRequest) ::_exit(kBroken);
      std::uint64_t id = frame->id;
      auto ticket = tickets_.add(id, limits_.at_once, [this, id](std::string note) {
        sender_.send({FrameKind::kProgress, id, std::move(note)});
      });
      if (!ticket) ::_exit(kBroken);
      if (idle_ == 0) {
        ++idle_;
        std::thread([this, &handler] { take_turns(handler); }).detach();
      }
      return {id, std::move(frame->payload), std::move(ticket)};
    }
  }

  // Nothing at the end. Of the thread whose turn it is.
  std::optional<Frame> next() {
    for (;;) {
      auto frame = reader_.next();
      if (!frame) ::_exit(kBroken);
      if (*frame) return *std::move(frame);
      ssize_t got = ::read(channel_, part_.data(), part_.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return std::nullopt;
      reader_.add({part_.data(), static_cast<std::size_t>(got)});
    }
  }

  const int channel_;
  const PartLimits limits_;
  std::mutex reading_;
  FrameReader reader_;  // Guarded by reading_, as the next.
  std::vector<char> part_ = std::vector<char>(64 << 10);
  std::atomic<std::size_t> idle_ = 0;  // Threads at no request, but for the one that reads.
  Sender sender_;
  Tickets tickets_;
};

}  // namespace

int serve_part(int channel, PartLimits limits, const PartOpening& open) {
  return Serving(channel, limits).run(open);
}

}  // namespace tool::isolate
