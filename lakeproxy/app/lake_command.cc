#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdio>

#include "lakeproxy/app/shared.h"
#include "lakeproxy/app/subcommands.h"
#include "lakeproxy/ducklake/lake/lake_upgrade.h"

namespace lake::app {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::minutes kLongest{30};

// Its one connection is the only session of ours that a migration finds.
base::pg::PoolOptions one_connection(const settings::Settings& settings) {
  base::pg::PoolOptions options = pool_options(settings);
  options.connections = 1;
  options.statement_time = kLongest;
  options.idle_transaction_time = kLongest;
  return options;
}

int fail(const base::Error& error, int code) {
  fmt::print(stderr, "lakeproxy lake: {}{}{}\n", error.message(),
             error.detail().empty() ? "" : ": ", error.detail());
  return code;
}

int report(const ducklake::LakeInspection& found) {
  fmt::print("version: {}\n", found.version.empty() ? "none" : found.version);
  if (found.format) fmt::print("attached by: {}\n", ducklake::clients_of(*found.format));
  for (const std::string& session : found.sessions) fmt::print("session: {}\n", session);
  for (const std::string& problem : found.problems) fmt::print("problem: {}\n", problem);
  if (found.problems.empty()) fmt::print("no problems\n");
  return found.problems.empty() ? 0 : 1;
}

template <class T>
base::Result<T> run(
    const settings::Settings& settings,
    std::function<base::Task<base::Result<T>>(base::RequestContext, base::pg::Pool&)> work) {
  asio::io_context loop(1);
  auto pool = base::pg::Pool::create(one_connection(settings));
  base::RequestContext context;
  context.deadline = std::chrono::steady_clock::now() + kLongest;
  auto done = asio::co_spawn(loop, work(context, *pool), asio::use_future);
  // The pool's idle connections do not hold up the loop.
  loop.run();
  auto answer = done.get();
  pool->close();
  return answer;
}

std::optional<model::LakeFormat> wanted_format(const std::string& text) {
  auto format = ducklake::read_lake_format(text);
  if (!format || *format < model::LakeFormat::k1_0) return std::nullopt;
  return *format;
}

constexpr std::string_view kNoWayBack =
    "There is no way back from DuckLake 1.1, and DuckDB before 2.0 cannot attach the lake any "
    "more. "
    "Make a dump of the database, stop all servers and clients, and say "
    "--there-is-no-way-back.";

}  // namespace

int create_lake(const settings::Settings& settings, const LakeCommand& command) {
  const auto format = wanted_format(command.format);
  if (!format)
    return fail(base::fail(base::ErrorKind::kInvalid, "--format: must be 1.0 or 1.1"), 2);
  ducklake::LakeOptions options = lake_options(settings);
  options.new_format = *format;
  auto done = run<void>(settings, [&](base::RequestContext context, base::pg::Pool& pool) {
    return ducklake::create_lake(context, pool, options);
  });
  if (!done) return fail(done.error(), 1);
  fmt::print("a lake of DuckLake {}; attached by: {}\n", ducklake::to_text(*format),
             ducklake::clients_of(*format));
  return 0;
}

int check_lake(const settings::Settings& settings) {
  auto found = run<ducklake::LakeInspection>(
      settings, [&](base::RequestContext context, base::pg::Pool& pool) {
        return ducklake::inspect_lake(context, pool, lake_options(settings));
      });
  return found ? report(*found) : fail(found.error(), 1);
}

int migrate_lake(const settings::Settings& settings, const LakeCommand& command) {
  if (wanted_format(command.format) != model::LakeFormat::k1_1) {
    return fail(base::fail(base::ErrorKind::kInvalid, "--to: must be 1.1"), 2);
  }
  if (!command.confirmed) {
    return fail(base::fail(base::ErrorKind::kInvalid, std::string(kNoWayBack)), 2);
  }
  auto done = run<void>(settings, [&](base::RequestContext context, base::pg::Pool& pool) {
    return ducklake::migrate_lake(context, pool, lake_options(settings));
  });
  if (!done) return fail(done.error(), 1);
  fmt::print("the lake has DuckLake 1.1 now; attached by: {}\n",
             ducklake::clients_of(model::LakeFormat::k1_1));
  return 0;
}

}  // namespace lake::app
