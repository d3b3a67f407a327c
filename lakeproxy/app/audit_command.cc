#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdio>

#include "lakeproxy/app/shared.h"
#include "lakeproxy/app/subcommands.h"
#include "lakeproxy/audit/audit_log.h"
#include "lakeproxy/ducklake/registry/catalog_registry.h"

namespace lake::app {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::hours kLongest{6};

int fail(const base::Error& error, int code) {
  fmt::print(stderr, "lakeproxy audit: {}{}{}\n", error.message(),
             error.detail().empty() ? "" : ": ", error.detail());
  return code;
}

base::Task<base::Result<audit::ChainCheck>> verify(const settings::Settings* settings,
                                                   base::pg::Pool* pool, std::string catalog,
                                                   std::optional<audit::ChainPlace> noted) {
  base::RequestContext context;
  context.deadline = std::chrono::steady_clock::now() + kLongest;
  ducklake::LakeOptions lake = lake_options(*settings);
  if (!catalog.empty() && catalog != lake.catalog) {
    ducklake::CatalogRegistry registry(*pool, lake, bucket_location(*settings));
    CO_ASSIGN_OR_RETURN(auto found, co_await registry.find(context, catalog));
    lake = registry.options_of(found);
  }
  const audit::AuditLog log(*pool, lake.metadata_schema);
  co_return co_await log.verify(context, noted);
}

int report(const audit::ChainCheck& check) {
  if (check.broken) {
    fmt::print("line {} {}\n", check.broken->id, check.broken->why);
    return 1;
  }
  fmt::print("{} lines are whole, from {} to {}\nnewest: {}\n", check.head.id - check.anchor.id,
             check.anchor.id + 1, check.head.id, audit::to_text(check.head));
  return 0;
}

}  // namespace

int verify_audit(const settings::Settings& settings, const AuditCommand& command) {
  std::optional<audit::ChainPlace> noted;
  if (!command.noted.empty()) {
    auto place = audit::chain_place_of(command.noted);
    if (!place) return fail(std::move(place).error().with_context("--noted"), 2);
    noted = *place;
  }
  asio::io_context loop(1);
  base::pg::PoolOptions options = pool_options(settings);
  options.connections = 1;
  auto pool = base::pg::Pool::create(std::move(options));
  auto done =
      asio::co_spawn(loop, verify(&settings, pool.get(), command.catalog, noted), asio::use_future);
  loop.run();
  auto check = done.get();
  pool->close();
  return check ? report(*check) : fail(check.error(), 1);
}

}  // namespace lake::app
