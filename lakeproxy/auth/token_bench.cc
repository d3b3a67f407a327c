// What a bearer token costs each request that carries it: the first time, and again.

#include <benchmark/benchmark.h>

#include "lakeproxy/auth/authenticator.h"
#include "lakeproxy/auth/fixture_test.h"

namespace lake::auth {
namespace {

using namespace testing;

base::Task<void> check(Authenticator* authenticator, const base::http::Headers* headers,
                       benchmark::State* state) {
  for (auto _ : *state) {
    auto who = co_await authenticator->authenticate({}, headers);
    if (!who) state->SkipWithError("refused");
  }
}

void bearer_known(benchmark::State& state) {
  StandingClock clock;
  const Clients clients = clients_of(kEntries);
  const AccessTokens tokens = tokens_of(options(), clients, clock);
  Authenticator authenticator(&tokens, nullptr, clock);
  base::http::Headers headers;
  headers.add("Authorization", "Bearer " + forge(kHeader, claims()));
  boost::asio::io_context loop;
  auto done =
      boost::asio::co_spawn(loop, check(&authenticator, &headers, &state), boost::asio::use_future);
  loop.run();
  done.get();
}
BENCHMARK(bearer_known);

void bearer_new(benchmark::State& state) {
  StandingClock clock;
  const Clients clients = clients_of(kEntries);
  const AccessTokens tokens = tokens_of(options(), clients, clock);
  const std::string token = forge(kHeader, claims());
  for (auto _ : state) {
    if (!tokens.verify(token)) state.SkipWithError("refused");
  }
}
BENCHMARK(bearer_new);

}  // namespace
}  // namespace lake::auth
