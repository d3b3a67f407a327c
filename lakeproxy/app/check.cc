#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include "lakeproxy/app/subcommands.h"
#include "lakeproxy/app/worker_services.h"

namespace lake::app {
namespace {

namespace asio = boost::asio;

base::Task<base::Status> check_postgres(base::RequestContext context, base::pg::Pool* pool) {
  auto answer = co_await check_takes_writes(context, pool);
  pool->close();
  co_return answer;
}

base::Status run(asio::io_context& loop, base::Task<base::Status> task) {
  auto result = asio::co_spawn(loop, std::move(task), asio::use_future);
  loop.restart();
  loop.run();
  return result.get();
}

bool report(std::string_view what, const base::Status& status) {
  if (status) {
    fmt::print("{}: ok\n", what);
  } else {
    fmt::print("{}: {}{}{}\n", what, status.error().message(),
               status.error().detail().empty() ? "" : ": ", status.error().detail());
  }
  return status.has_value();
}

}  // namespace

int check(const settings::Settings& settings) {
  base::SystemClock clock;
  base::SystemRandom random;
  asio::io_context loop(1);
  base::RequestContext context;
  context.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  bool fine = report("settings", {});
  if (settings.auth.is_on()) {
    auto authority = Authority::create(settings.auth, clock, random);
    fine = report("clients", authority ? base::Status() : std::move(authority).error()) && fine;
  }
  auto pool = base::pg::Pool::create(pool_options(settings));
  fine = report("postgres", run(loop, check_postgres(context, pool.get()))) && fine;
  auto store = storage::ObjectStore::create(store_options(settings), clock, random);
  if (!store) {
    fine = report("object store", std::move(store).error()) && fine;
  } else {
    fine = report("object store", run(loop, (*store)->ready(context))) && fine;
  }
  return fine ? 0 : 1;
}

}  // namespace lake::app
