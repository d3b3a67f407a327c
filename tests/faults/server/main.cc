// lakeproxy, made to fall at a step of a commit or a compaction, or at a job of the engine: the
// same server with a watch on their numbers. A test arms a step by a file in a folder that only the
// two know:
//   N.kill    whoever comes to step N first ends the process, by SIGKILL
//   N.pause   whoever comes to step N first waits there; the file is called
//             N.paused then, until the test removes it
// This program is built for tests only; lakeproxy has none of this code.

#include <fmt/format.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/config/settings_table.h"
#include "lakeproxy/app/subcommands.h"
#include "lakeproxy/ducklake/commit/commit_step.h"
#include "lakeproxy/settings/settings.h"

namespace {

namespace fs = std::filesystem;
namespace asio = boost::asio;

constexpr std::chrono::milliseconds kLook{2};

// Taken by one alone: a file is renamed or removed once.
bool take(const fs::path& armed, const fs::path& taken) {
  std::error_code gone;
  fs::rename(armed, taken, gone);
  return !gone;
}

base::Task<void> wait_while_there(fs::path paused) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (fs::exists(paused)) {
    timer.expires_after(kLook);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

// The file that the test removes to end a pause, if there is to be one.
std::optional<fs::path> arrive(const fs::path& folder, int step) {
  const fs::path of_step = folder / fmt::format("{}", step);
  auto file = [&](const char* kind) { return fs::path(of_step.string() + kind); };
  if (take(file(".kill"), file(".killed"))) std::raise(SIGKILL);
  if (take(file(".pause"), file(".paused"))) return file(".paused");
  return std::nullopt;
}

base::Task<void> reach(fs::path folder, int step) {
  if (auto paused = arrive(folder, step)) co_await wait_while_there(std::move(*paused));
}

// A compaction is for the most part on a thread of its own, and so is a job of the engine.
void reach_blocking(const fs::path& folder, int step) {
  auto paused = arrive(folder, step);
  while (paused && fs::exists(*paused)) std::this_thread::sleep_for(kLook);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || !fs::is_directory(argv[1])) {
    fmt::print(stderr, "usage: faulty_lakeproxy FOLDER, with the settings of lakeproxy\n");
    return 2;
  }
  auto settings = lake::settings::load(
      {{}, base::config::process_environment(), std::filesystem::current_path()});
  if (!settings) {
    fmt::print(stderr, "{}\n", settings.error().message());
    return 2;
  }
  const fs::path folder = argv[1];
  const lake::ducklake::StepWatch commits = [folder](lake::ducklake::CommitStep step) {
    return reach(folder, static_cast<int>(step));
  };
  const lake::exporter::CompactionWatch compactions =
      [folder](lake::exporter::CompactionStep step) {
        reach_blocking(folder, static_cast<int>(step));
      };
  const lake::exporter::EngineWatch engine_jobs = [folder](lake::exporter::EngineWork work) {
    reach_blocking(folder, static_cast<int>(work));
  };
  return lake::app::serve(*settings, {&commits, &compactions, &engine_jobs});
}
