#include <benchmark/benchmark.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>

#include "toolserver/isolate/launch.h"
#include "toolserver/isolate/part.h"
#include "toolserver/isolate/part_client.h"

namespace tool::isolate {
namespace {

constexpr std::size_t kBytes = 256;
constexpr std::string_view kRole = "echo";

int echo_role(int channel) {
  return serve_part(channel, {}, [](const std::string&) -> base::Result<PartHandler> {
    return PartHandler([](std::string request, Ticket&) { return request; });
  });
}

// The least that a question to a process and its answer can cost here: a socket
// with a thread that blocks at either end.
void socket_there_and_back(benchmark::State& state) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return state.SkipWithError("socketpair");
  }
  std::jthread other([end = ends[1]] {
    std::array<char, kBytes> part{};
    while (::recv(end, part.data(), part.size(), MSG_WAITALL) == kBytes) {
      if (::send(end, part.data(), part.size(), MSG_NOSIGNAL) != kBytes) return;
    }
  });
  std::array<char, kBytes> message{};
  for (auto _ : state) {
    bool good = ::send(ends[0], message.data(), kBytes, MSG_NOSIGNAL) == kBytes &&
                ::recv(ends[0], message.data(), kBytes, MSG_WAITALL) == kBytes;
    if (!good) state.SkipWithError("the socket failed");
  }
  ::shutdown(ends[0], SHUT_RDWR);
  other.join();
  for (int end : ends) ::close(end);
}
BENCHMARK(socket_there_and_back)->UseRealTime();

std::unique_ptr<PartClient> start_echo() {
  PartOptions options{.role = std::string(kRole), .walls = {.memory_bytes = 1ULL << 30}};
  options.opening = [](bool) { return std::string(); };
  auto started = PartClient::start(std::move(options));
  return started ? std::move(*started) : nullptr;
}

base::Task<void> ask(PartClient& part, benchmark::State& state) {
  const std::string request(kBytes, 'x');
  for (auto _ : state) {
    auto answer = co_await part.call(request, base::Deadline::max());
    if (!answer) state.SkipWithError("no answer");
  }
}

// One after the other, as the loop of a session asks.
void call_of_a_child(benchmark::State& state) {
  auto part = start_echo();
  if (!part) return state.SkipWithError("the child does not begin");
  boost::asio::io_context loop(1);
  boost::asio::co_spawn(loop, ask(*part, state), [](const std::exception_ptr&) {});
  loop.run();
}
BENCHMARK(call_of_a_child)->UseRealTime();

base::Task<void> ask_once(PartClient& part, std::size_t& left) {
  auto answer = co_await part.call(std::string(kBytes, 'x'), base::Deadline::max());
  if (answer) --left;
}

// Side by side, as many sessions ask.
void call_of_a_child_among_16(benchmark::State& state) {
  constexpr std::size_t kAtOnce = 16;
  auto part = start_echo();
  if (!part) return state.SkipWithError("the child does not begin");
  boost::asio::io_context loop(1);
  for (auto _ : state) {
    std::size_t left = kAtOnce;
    for (std::size_t i = 0; i < kAtOnce; ++i) {
      boost::asio::co_spawn(loop, ask_once(*part, left), [](const std::exception_ptr&) {});
    }
    loop.run();
    loop.restart();
    if (left != 0) state.SkipWithError("no answer");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kAtOnce));
}
BENCHMARK(call_of_a_child_among_16)->UseRealTime();

}  // namespace
}  // namespace tool::isolate

// This program is the child, too.
int main(int argc, char** argv) {
  using tool::isolate::Role;
  constexpr std::array kRoles{Role{tool::isolate::kRole, tool::isolate::echo_role}};
  if (auto code = tool::isolate::run_if_child(argc, argv, kRoles)) return *code;
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
