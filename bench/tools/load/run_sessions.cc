#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/runtime/task_group.h"
#include "bench/samples/samples.h"
#include "bench/tools/load/load_session.h"
#include "bench/tools/load/loads.h"

namespace bench {
namespace {

namespace asio = boost::asio;
using tool::Outcome;

// Returns when whoever started us closes our standard input.
base::Task<void> wait_for_end_of_input() {
  auto loop = co_await asio::this_coro::executor;
  asio::posix::stream_descriptor input(loop, ::dup(STDIN_FILENO));
  co_await input.async_wait(asio::posix::stream_descriptor::wait_read,
                            asio::as_tuple(asio::use_awaitable));
}

}  // namespace

base::Task<Outcome<std::string>> run_handshakes(Bench bench, std::size_t count) {
  Samples samples(count);
  double cpu = own_cpu_seconds();
  auto start = Steady::now();
  for (std::size_t i = 0; i < count; ++i) {
    auto began = Steady::now();
    auto session = co_await LoadSession::open(bench.options, bench.clock, bench.random);
    if (!session) co_return std::move(session).error();
    samples.add(Steady::now() - began);
    auto closed = co_await (*session)->close();
    if (!closed) co_return std::move(closed).error();
  }
  co_return report(samples, Steady::now() - start, own_cpu_seconds() - cpu);
}

base::Task<Outcome<std::string>> run_idle(Bench bench, std::size_t count) {
  base::TaskGroup tasks(co_await asio::this_coro::executor);
  Samples samples(count);
  double cpu = own_cpu_seconds();
  auto start = Steady::now();
  std::vector<std::unique_ptr<LoadSession>> sessions;
  Outcome<std::string> outcome;
  while (sessions.size() < count) {
    auto began = Steady::now();
    auto session = co_await LoadSession::open(bench.options, bench.clock, bench.random);
    if (!session) {
      outcome = std::move(session).error();
      break;
    }
    samples.add(Steady::now() - began);
    sessions.push_back(std::move(*session));
    tasks.spawn(sessions.back()->idle());
  }
  if (outcome) {
    outcome = report(samples, Steady::now() - start, own_cpu_seconds() - cpu);
    fmt::print("{}\n", *outcome);
    std::fflush(stdout);
    co_await wait_for_end_of_input();
    if (tasks.running() != count) {
      outcome = tool::refuse(tool::Code::kUpstream, "sessions ended while they were idle");
    }
  }
  for (auto& session : sessions) session->abort();
  co_await tasks.wait();
  co_return outcome;
}

}  // namespace bench
