#include "toolserver/mcp_bridge/stdio_link.h"

#include <fmt/format.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <utility>

#include "base/runtime/task_group.h"

namespace tool::bridge {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

constexpr std::size_t kLastWords = 400;
// For a program that closed its output to end.
constexpr std::chrono::milliseconds kGrace{500};

// A request that waits; of the coroutine that asked.
struct Waiting {
  explicit Waiting(const asio::any_io_executor& loop) : changed(loop) {}
  asio::steady_timer changed;
  std::optional<Outcome<Reply>> outcome;
};

Fault broken(std::string detail) {
  Fault fault = refuse(Code::kUpstream, "the tool's server gave no usable answer");
  fault.detail = std::move(detail);
  return fault;
}

}  // namespace

struct StdioLink::State {
  State(const asio::any_io_executor& loop, std::unique_ptr<isolate::ChildProcess> process,
        LinkEvents wanted)
      : tasks(loop), wake(loop), child(std::move(process)), events(std::move(wanted)) {}

  base::TaskGroup tasks;
  asio::steady_timer wake;  // Cancelled when there is something to write, or to end.
  std::unique_ptr<isolate::ChildProcess> child;
  LinkEvents events;
  std::map<mcp::RequestId, std::shared_ptr<Waiting>> waiting;
  std::deque<std::string> outbox;
  std::size_t outbox_bytes = 0;
  Meter meter;
  std::string closed_for;  // The reason, once it is closed.
  std::string how_it_ended;

  [[nodiscard]] bool is_closed() const { return !closed_for.empty(); }

  // False where the server does not read what it is sent.
  bool send(std::string line) {
    if (is_closed() || outbox_bytes + line.size() > kOutboxBytes) return false;
    outbox_bytes += line.size();
    outbox.push_back(std::move(line));
    wake.cancel();
    return true;
  }

  void end(std::string reason, bool tell) {
    if (is_closed()) return;
    closed_for = std::move(reason);
    for (auto& [id, one] : waiting) {
      one->outcome = broken(closed_for);
      one->changed.cancel();
    }
    waiting.clear();
    child->kill();
    wake.cancel();
    if (tell && events.closed) events.closed(closed_for);
  }

  void settle(const mcp::RequestId& id, Reply reply) {
    auto found = waiting.find(id);
    if (found == waiting.end()) return;
    found->second->outcome = std::move(reply);
    found->second->changed.cancel();
    waiting.erase(found);
  }

  // The broken rule, or nothing.
  std::string take(const std::string& line) {
    auto message = mcp::parse_message(line, kServerMessage);
    if (!message) return "what it writes is no message: " + message.error().error.message;
    bool unasked = true;
    if (auto* answer = std::get_if<mcp::Answer>(&*message)) {
      unasked = !waiting.contains(answer->id);
      settle(answer->id, std::move(answer->result));
    } else if (auto* error = std::get_if<mcp::ErrorAnswer>(&*message)) {
      unasked = !error->id || !waiting.contains(*error->id);
      if (error->id) settle(*error->id, std::unexpected(std::move(error->error)));
    } else if (auto* request = std::get_if<mcp::Request>(&*message)) {
      if (!send(answer_to(*request, events))) return "it does not read our answers";
    } else if (events.notified) {
      events.notified(std::get<mcp::Notification>(*message));
    }
    return meter.take(line.size(), unasked, steady_clock::now()) ? "" : "it writes too much";
  }
};

base::Task<base::Result<std::unique_ptr<StdioLink>>> StdioLink::start(isolate::ChildOptions options,
                                                                      base::BlockingPool& pool,
                                                                      LinkEvents events) {
  options.line_bytes = kServerMessage.bytes;
  CO_ASSIGN_OR_RETURN(auto child, co_await isolate::ChildProcess::start(std::move(options), pool));
  auto loop = co_await asio::this_coro::executor;
  auto state = std::make_shared<State>(loop, std::move(child), std::move(events));
  state->tasks.spawn(read(state));
  state->tasks.spawn(write(state));
  co_return std::unique_ptr<StdioLink>(new StdioLink(std::move(state)));
}

StdioLink::~StdioLink() { close(); }

void StdioLink::close() { state_->end("closed", false); }

base::Task<void> StdioLink::finish() {
  auto state = state_;
  co_await state->tasks.wait();
}

const std::vector<std::string>& StdioLink::missing_walls() const {
  return state_->child->missing();
}

std::string StdioLink::last_words() const {
  std::string_view errors = state_->child->errors();
  if (errors.size() > kLastWords) errors.remove_prefix(errors.size() - kLastWords);
  return fmt::format("{} {}", state_->how_it_ended, errors);
}

base::Task<void> StdioLink::read(std::shared_ptr<State> state) {
  while (!state->is_closed()) {
    auto line = co_await state->child->read_line(base::Deadline::max());
    if (state->is_closed()) break;
    if (!line) {
      state->end(line.error().message(), true);
    } else if (!*line) {
      // Its own exit code tells more than that of being killed.
      auto exit = co_await state->child->wait(steady_clock::now() + kGrace);
      if (exit) state->how_it_ended = fmt::format("exit code {}", exit->code);
      state->end("the program has ended", true);
    } else if (!(*line)->empty()) {
      if (auto rule = state->take(**line); !rule.empty()) state->end(rule, true);
    }
  }
  auto exit = co_await state->child->wait(base::Deadline::max());
  if (exit && state->how_it_ended.empty()) {
    state->how_it_ended = fmt::format("exit code {}", exit->code);
  }
}

base::Task<void> StdioLink::write(std::shared_ptr<State> state) {
  while (!state->is_closed()) {
    if (state->outbox.empty()) {
      state->wake.expires_at(base::Deadline::max());
      boost::system::error_code woken;
      co_await state->wake.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      continue;
    }
    std::string line = std::move(state->outbox.front());
    state->outbox.pop_front();
    state->outbox_bytes -= line.size();
    auto written =
        co_await state->child->write_line(std::move(line), steady_clock::now() + kWriteTime);
    if (!written) state->end(written.error().message(), true);
  }
}

base::Task<Outcome<Reply>> StdioLink::ask(mcp::Request request, HeaderValues,
                                          base::Deadline deadline) {
  auto state = state_;
  if (state->is_closed()) co_return broken(state->closed_for);
  mcp::RequestId id = request.id;
  if (state->waiting.size() >= kWaiting || !state->send(mcp::write(request))) {
    co_return refuse(Code::kBusy, "the tool's server has too much to do");
  }
  auto loop = co_await asio::this_coro::executor;
  auto mine = std::make_shared<Waiting>(loop);
  mine->changed.expires_at(deadline);
  state->waiting.emplace(id, mine);
  auto cancellation = co_await asio::this_coro::cancellation_state;
  bool cancelled = cancellation.cancelled() != asio::cancellation_type::none;
  boost::system::error_code woken;
  if (!cancelled && !mine->outcome) {
    co_await mine->changed.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  if (mine->outcome) co_return std::move(*mine->outcome);
  state->waiting.erase(id);
  bool timed_out = !cancelled && !woken;
  base::json::Object params{{"requestId", mcp::to_json(id)},
                            {"reason", timed_out ? "out of time" : "cancelled"}};
  state->send(mcp::write(mcp::Notification{std::string(mcp::method::kCancelled), params}));
  co_return timed_out ? refuse(Code::kTimeout, "the tool's server did not answer in time")
                      : refuse(Code::kCancelled, "cancelled");
}

base::Task<void> StdioLink::tell(mcp::Notification notification, base::Deadline) {
  state_->send(mcp::write(notification));
  co_return;
}

}  // namespace tool::bridge
