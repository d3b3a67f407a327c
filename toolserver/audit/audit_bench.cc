#include <benchmark/benchmark.h>

#include "toolserver/audit/fixture_test.h"

namespace tool::audit {
namespace {

void call_is_sealed(benchmark::State& state) {
  base::testing::TemporaryFolder folder;
  testing::FixedClock clock;
  base::SystemRandom random;
  AuditOptions options{.folder = folder.path(), .node = "node-a"};
  options.durability = state.range(0) == 0 ? Durability::kWritten : Durability::kSynced;
  auto log =
      AuditLog::open(options, CheckpointSigner::with_secret(testing::test_secret()), clock, random);
  boost::asio::io_context loop;
  CallRecord record = testing::sample();
  record.args_mac = std::string(71, 'a');
  record.session_id = std::string(26, 's');
  for (auto _ : state) {
    record.open_seq = (*log)->open_call(record).value_or(0);
    boost::asio::co_spawn(loop, (*log)->seal(record),
                          [](std::exception_ptr, base::Result<AuditReceipt> receipt) {
                            benchmark::DoNotOptimize(receipt);
                          });
    loop.run();
    loop.restart();
  }
}
BENCHMARK(call_is_sealed)->ArgName("synced")->Arg(0)->Arg(1)->UseRealTime();

}  // namespace
}  // namespace tool::audit
