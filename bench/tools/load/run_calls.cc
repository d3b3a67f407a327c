#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <unordered_map>
#include <utility>
#include <variant>

#include "base/json/json.h"
#include "base/runtime/task_group.h"
#include "bench/samples/samples.h"
#include "bench/tools/load/load_session.h"
#include "bench/tools/load/loads.h"

namespace bench {
namespace {

using tool::Code;
using tool::Outcome;

// The calls of one connection.
class Caller {
 public:
  Caller(LoadSession& session, const CallLoad& load) : session_(session), load_(load) {}

  // `count` calls, `in_flight` of them side by side.
  base::Task<Outcome<void>> run(std::size_t count, std::size_t in_flight, Samples& samples) {
    left_ = count;
    for (std::size_t i = 0; i < in_flight && left_ > 0; ++i) {
      if (auto sent = send(); !sent) co_return sent;
    }
    while (!sent_.empty()) {
      auto actions = co_await session_.receive();
      if (!actions) co_return std::move(actions).error();
      for (auto& action : *actions) {
        if (auto taken = take(action, samples); !taken) co_return taken;
      }
    }
    co_return Outcome<void>();
  }

  [[nodiscard]] const base::json::Object& last() const { return last_; }

 private:
  Outcome<void> send() {
    --left_;
    auto started = Steady::now();
    auto id = session_.send_request(load_.op, load_.payload);
    if (!id) return std::move(id).error();
    sent_.emplace(*id, started);
    return {};
  }

  Outcome<void> take(tool::session::ClientAction& action, Samples& samples) {
    if (auto* refused = std::get_if<tool::session::Refused>(&action)) {
      return std::move(refused->fault);
    }
    auto* answer = std::get_if<tool::session::Answer>(&action);
    if (answer == nullptr) return {};
    auto found = sent_.find(answer->id);
    if (found == sent_.end()) return tool::refuse(Code::kState, "an answer that nobody asked for");
    samples.add(Steady::now() - found->second);
    sent_.erase(found);
    const auto* error = answer->payload.if_contains("is_error");
    bool is_call = load_.op == tool::session::Op::kInvoke;
    if (is_call && (error == nullptr || !error->is_bool() || error->get_bool())) {
      return tool::refuse(Code::kInternal,
                          "the tool failed: " + base::json::write(answer->payload));
    }
    last_ = std::move(answer->payload);
    if (left_ == 0) return {};
    return send();
  }

  LoadSession& session_;
  const CallLoad& load_;
  std::size_t left_ = 0;
  std::unordered_map<tool::Ulid, Steady::time_point> sent_;
  base::json::Object last_;
};

struct Callers {
  std::vector<std::unique_ptr<LoadSession>> sessions;
  std::vector<Caller> callers;
  Outcome<void> outcome;
};

base::Task<void> keep_outcome(base::Task<Outcome<void>> task, Outcome<void>& all) {
  auto done = co_await std::move(task);
  if (!done && all) all = std::move(done);
}

base::Task<Outcome<void>> run_all(Callers& all, const CallLoad& load, std::size_t count,
                                  Samples& samples) {
  base::TaskGroup tasks(co_await boost::asio::this_coro::executor);
  for (auto& caller : all.callers) {
    tasks.spawn(keep_outcome(
        caller.run(count / load.connections, load.in_flight / load.connections, samples),
        all.outcome));
  }
  co_await tasks.wait();
  co_return all.outcome;
}

}  // namespace

base::Task<Outcome<std::string>> run_calls(Bench bench, CallLoad load) {
  Callers all;
  for (std::size_t i = 0; i < load.connections; ++i) {
    auto session = co_await LoadSession::open(bench.options, bench.clock, bench.random);
    if (!session) co_return std::move(session).error();
    all.callers.emplace_back(**session, load);
    all.sessions.push_back(std::move(*session));
  }
  Samples ignored(load.count / 10 + 1);
  auto warm = co_await run_all(all, load, load.count / 10 + load.connections, ignored);
  if (!warm) co_return std::move(warm).error();
  Samples samples(load.count);
  double cpu = own_cpu_seconds();
  auto start = Steady::now();
  auto done = co_await run_all(all, load, load.count, samples);
  auto total = Steady::now() - start;
  if (!done) co_return std::move(done).error();
  auto text = report(samples, total, own_cpu_seconds() - cpu);
  text.pop_back();
  text +=
      ",\"answer_bytes\":" + std::to_string(base::json::write(all.callers.front().last()).size()) +
      "}";
  for (auto& session : all.sessions) {
    auto closed = co_await session->close();
    if (!closed) co_return std::move(closed).error();
  }
  co_return text;
}

}  // namespace bench
