#include "toolserver/isolate/part.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

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
    while (auto frame = next()) {
      if (frame->kind == FrameKind::kCancel) {
        tickets_.cancel(frame->id);
      } else if (frame->kind != FrameKind::kRequest || !begin(*std::move(frame), *handler)) {
        ::_exit(kBroken);
      }
    }
    // Threads may still work; what they do is of no more use to anybody.
    ::_exit(0);
  }

 private:
  // Nothing at the end, and where the frame is none.
  std::optional<Frame> next() {
    std::array<char, 64 << 10> part{};
    for (;;) {
      auto frame = reader_.next();
      if (!frame) ::_exit(kBroken);
      if (*frame) return *std::move(frame);
      ssize_t got = ::read(channel_, part.data(), part.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return std::nullopt;
      reader_.add({part.data(), static_cast<std::size_t>(got)});
    }
  }

  bool begin(Frame frame, const PartHandler& handler) {
    std::uint64_t id = frame.id;
    auto ticket = tickets_.add(id, limits_.at_once, [this, id](std::string note) {
      sender_.send({FrameKind::kProgress, id, std::move(note)});
    });
    if (!ticket) return false;
    std::thread([this, id, ticket, &handler, request = std::move(frame.payload)]() mutable {
      std::string answer = handler(std::move(request), *ticket);
      // The place is free before the parent can know of it.
      tickets_.remove(id);
      sender_.send({FrameKind::kAnswer, id, std::move(answer)});
    }).detach();
    return true;
  }

  const int channel_;
  const PartLimits limits_;
  FrameReader reader_;
  Sender sender_;
  Tickets tickets_;
};

}  // namespace

int serve_part(int channel, PartLimits limits, const PartOpening& open) {
  return Serving(channel, limits).run(open);
}

}  // namespace tool::isolate
