#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdio>

#include "base/core/text.h"
#include "base/json/json.h"
#include "lakeproxy/app/shared.h"
#include "lakeproxy/app/subcommands.h"
#include "lakeproxy/ducklake/registry/catalog_registry.h"
#include "lakeproxy/maintenance/removal/orphans.h"
#include "lakeproxy/maintenance/removal/prefix_owner.h"
#include "lakeproxy/maintenance/removal/purge.h"

namespace lake::app {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kManifestCacheBytes = std::size_t{64} << 20;

struct Answer {
  std::string owner_before;  ///< What the owner object said before a take-over.
  operation::Purged purged;
  maintenance::OrphanCount orphans;
};

// What one run works with, in the order of the arrows.
struct GcRun {
  base::SystemClock clock;
  base::SystemRandom random;
  base::log::LogOutput output;
  base::log::Logger log;
  asio::io_context loop{1};
  std::unique_ptr<base::pg::Pool> pool;
  std::unique_ptr<storage::ObjectStore> store;
  publish::ManifestCache cache{kManifestCacheBytes};

  explicit GcRun(const settings::Settings& settings)
      : output({settings.log.format, settings.log.level}, clock),
        log(output),
        pool(base::pg::Pool::create(pool_options(settings))) {}
};

// "90s", "12h", "3d"; seconds without a unit.
std::optional<std::chrono::seconds> read_time(std::string_view text) {
  constexpr std::pair<char, int> kUnits[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
  std::int64_t factor = 1;
  for (auto [letter, seconds] : kUnits) {
    if (!text.ends_with(letter)) continue;
    factor = seconds;
    text.remove_suffix(1);
    break;
  }
  constexpr std::int64_t kMostDays = 36'500;
  auto number = base::parse_int64(text);
  if (!number || *number < 0 || *number > kMostDays * 86400 / factor) return std::nullopt;
  return std::chrono::seconds(*number * factor);
}

base::Result<std::chrono::microseconds> grace_of(const settings::Settings& settings,
                                                 const GcOptions& options) {
  auto grace = read_time(options.older_than);
  if (!grace) {
    return base::fail(base::ErrorKind::kInvalid,
                      "--older-than: must be a number of seconds, or one with s, m, h or d, up to "
                      "36500d");
  }
  if (options.work == GcWork::kRemove && *grace < settings.upkeep.file_grace) {
    return base::fail(base::ErrorKind::kInvalid,
                      "--older-than: must not be shorter than LAKEPROXY_FILE_GRACE, since clients "
                      "may still read the files; without --remove any time is taken");
  }
  return *grace;
}

base::Task<base::Result<ducklake::LakeOptions>> lake_of(base::RequestContext context,
                                                        const settings::Settings* settings,
                                                        base::pg::Pool* pool, std::string catalog) {
  ducklake::LakeOptions home = lake_options(*settings);
  if (catalog.empty() || catalog == home.catalog) co_return home;
  ducklake::CatalogRegistry registry(*pool, home, bucket_location(*settings));
  CO_ASSIGN_OR_RETURN(auto found, co_await registry.find(context, catalog));
  co_return registry.options_of(found);
}

constexpr std::string_view kJsonBegin = "{\"orphans\":[";

void print_orphan(const storage::ListedObject& object, bool json, bool first) {
  if (!json) {
    fmt::print("{:>14}  {}\n", object.size, object.key.text());
    return;
  }
  std::string key;
  base::json::append_quoted(key, object.key.text());
  auto seconds = std::chrono::floor<std::chrono::seconds>(object.modified);
  fmt::print("{}\n  {{\"key\":{},\"bytes\":{},\"modified\":\"{:%FT%TZ}\"}}",
             first ? kJsonBegin : ",", key, object.size,
             fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)));
}

base::Task<base::Result<Answer>> collect(GcRun* run, const settings::Settings* settings,
                                         const GcOptions* options,
                                         std::chrono::microseconds grace) {
  base::RequestContext context;
  CO_ASSIGN_OR_RETURN(auto lake,
                      co_await lake_of(context, settings, run->pool.get(), options->catalog));
  ducklake::LakeUpkeep upkeep(*run->pool, lake);
  CO_RETURN_IF_ERROR(co_await upkeep.check_opened(context));
  const operation::PrefixTools prefix{&upkeep, run->store.get(), lake.data_path};
  Answer answer;
  if (options->work == GcWork::kTakeOver) {
    CO_ASSIGN_OR_RETURN(answer.owner_before, co_await operation::take_over(context, prefix));
    co_return answer;
  }
  const bool removes = options->work == GcWork::kRemove;
  if (removes) {
    CO_RETURN_IF_ERROR(co_await operation::check_owner(context, prefix));
    CO_ASSIGN_OR_RETURN(answer.purged,
                        co_await operation::finish_purges(
                            context, {&upkeep, run->store.get(), &run->log, lake.data_path}));
    const masked::MaskedRetention masks = masked_retention(*settings);
    CO_RETURN_IF_ERROR(
        co_await upkeep.forget_unused_masks(context, std::max(masks.idle, masks.grace)));
  }
  publish::ManifestStore manifests(*run->store, run->cache);
  bool first = true;
  maintenance::OrphanSearch search{
      .prefix = lake.data_path,
      .owner = operation::owner_location(lake.data_path),
      .grace = grace,
      .removal = removes ? maintenance::Removal::kRemove : maintenance::Removal::kShow,
      .found = [options, &first](const storage::ListedObject& object) {
        print_orphan(object, options->json, std::exchange(first, false));
      }};
  maintenance::OrphanTools tools{&upkeep, run->store.get(), &manifests, &run->clock, &run->log};
  auto counted = co_await maintenance::collect_orphans(context, tools, std::move(search));
  if (!counted) co_return std::move(counted).error();
  answer.orphans = *counted;
  co_return answer;
}

void print_taken_over(const Answer& answer) {
  fmt::print("this database owns the prefix from now on; the owner before: {}\n",
             answer.owner_before.empty() ? "none" : answer.owner_before);
}

void print_total(const Answer& answer, const GcOptions& options) {
  const maintenance::OrphanCount& count = answer.orphans;
  if (options.json) {
    fmt::print(
        "{}],\n\"removed\":{},\"objects\":{},\"bytes\":{},\"failed\":{},\"listed\":{},"
        "\"unnameable\":{},\"purged\":{}}}\n",
        count.objects == 0 ? kJsonBegin : "", options.work == GcWork::kRemove, count.objects,
        count.bytes, count.failed, count.listed, count.unnameable, answer.purged.removed);
    return;
  }
  fmt::print("{} orphans with {} bytes {}; {} objects looked at\n", count.objects, count.bytes,
             options.work == GcWork::kRemove ? "removed" : "found (nothing was removed)",
             count.listed);
  if (answer.purged.removed > 0) {
    fmt::print("{} objects of dropped tables removed\n", answer.purged.removed);
  }
  if (count.failed > 0) fmt::print("{} of the orphans could not be removed\n", count.failed);
  if (count.unnameable > 0) {
    fmt::print("{} objects have names that are no keys of a lake; they stay\n", count.unnameable);
  }
}

int fail(const base::Error& error, int code) {
  fmt::print(stderr, "lakeproxy gc: {}{}{}\n", error.message(), error.detail().empty() ? "" : ": ",
             error.detail());
  return code;
}

}  // namespace

int gc(const settings::Settings& settings, const GcOptions& options) {
  auto grace = grace_of(settings, options);
  if (!grace) return fail(grace.error(), 2);
  GcRun run(settings);
  auto store = storage::ObjectStore::create(store_options(settings), run.clock, run.random);
  if (!store) return fail(store.error(), 2);
  run.store = std::move(*store);
  auto done =
      asio::co_spawn(run.loop, collect(&run, &settings, &options, *grace), asio::use_future);
  // The pool's idle connections do not hold up the loop.
  run.loop.run();
  auto answer = done.get();
  run.pool->close();
  if (!answer) return fail(answer.error(), 1);
  if (options.work == GcWork::kTakeOver) {
    print_taken_over(*answer);
    return 0;
  }
  print_total(*answer, options);
  return answer->orphans.failed == 0 ? 0 : 1;
}

}  // namespace lake::app
