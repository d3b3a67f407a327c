// How many small prepared reads one event loop gets through, and what one
// costs the client: the CPU column divided by the queries in a round.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "base/postgres/session.h"
#include "base/runtime/gather.h"
#include "base/testing/postgres_server.h"

namespace base::pg {
namespace {

constexpr int kQueriesEach = 50;

std::unique_ptr<Pool> make_pool(std::size_t connections) {
  auto& server = testing::PostgresServer::shared();
  PoolOptions options;
  options.host = server.socket_folder();
  options.port = fmt::to_string(server.port());
  options.user = server.user();
  options.database = server.database();
  options.connections = connections;
  return Pool::create(std::move(options));
}

RequestContext soon() {
  return {.request_id = 1, .deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60)};
}

Task<Result<void>> ask_often(Pool& pool) {
  for (std::int64_t i = 0; i < kQueriesEach; ++i) {
    CO_ASSIGN_OR_RETURN(auto rows,
                        co_await pool.query(soon(), {{"SELECT $1::bigint"}, {param(i)}}));
    benchmark::DoNotOptimize(rows->int64(0, 0));
  }
  co_return Status();
}

Task<Result<void>> commit_often(Pool& pool) {
  for (int i = 0; i < kQueriesEach; ++i) {
    std::vector<Query> first;
    first.push_back({{"SELECT 1"}, {}});
    CO_ASSIGN_OR_RETURN(auto begun, co_await pool.begin(soon(), std::move(first)));
    CO_RETURN_IF_ERROR(co_await begun.transaction->run_and_commit({}));
  }
  co_return Status();
}

// range(0) callers share range(1) connections.
void run_callers(benchmark::State& state, Task<Result<void>> (*call)(Pool&)) {
  auto pool = make_pool(static_cast<std::size_t>(state.range(1)));
  boost::asio::io_context loop(1);
  for (auto _ : state) {
    for (int i = 0; i < state.range(0); ++i) {
      boost::asio::co_spawn(loop, call(*pool), [&](std::exception_ptr, Result<void> done) {
        if (!done) state.SkipWithError(done.error().detail().c_str());
      });
    }
    loop.restart();
    loop.run();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * kQueriesEach);
  pool.reset();
}

void BM_PreparedRead(benchmark::State& state) { run_callers(state, ask_often); }
void BM_Transaction(benchmark::State& state) { run_callers(state, commit_often); }

BENCHMARK(BM_PreparedRead)->Args({1, 1})->Args({64, 1})->Args({64, 4})->UseRealTime();
BENCHMARK(BM_Transaction)->Args({1, 1})->Args({64, 4})->UseRealTime();

}  // namespace
}  // namespace base::pg
