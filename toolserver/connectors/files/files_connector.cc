#include "toolserver/connectors/files/files_connector.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include "toolserver/connectors/files/file_arguments.h"
#include "toolserver/connectors/files/file_capabilities.h"
#include "toolserver/connectors/files/file_results.h"
#include "toolserver/connectors/files/stoppable.h"

namespace tool::files {
namespace {

using base::Result;
using base::Task;

constexpr std::uint64_t kVisitsPerProgress = 1024;

Effect effect_of(const Invocation& call) {
  return call.dry_run ? Effect::kRehearse : Effect::kApply;
}

// Told on the caller's loop, and no more once the call has ended. `ended` is
// touched on that loop only.
struct Teller {
  Progress progress;
  bool ended = false;
};

Visited visited_on(boost::asio::any_io_executor loop, std::shared_ptr<Teller> teller) {
  if (!teller->progress) return {};
  return [loop = std::move(loop), teller = std::move(teller)](std::uint64_t visits) {
    if (visits % kVisitsPerProgress != 0) return;
    boost::asio::post(loop, [teller, visits] {
      if (teller->ended) return;
      teller->progress(static_cast<double>(visits), std::nullopt, "entries looked at");
    });
  };
}

}  // namespace

FilesConnector::FilesConnector(FilesOptions options, std::unique_ptr<FileStore> store,
                               std::vector<Capability> capabilities, base::BlockingPool& pool)
    : options_(std::move(options)),
      store_(std::move(store)),
      capabilities_(std::move(capabilities)),
      pool_(&pool) {}

Result<std::unique_ptr<FilesConnector>> FilesConnector::open(FilesOptions options,
                                                             base::BlockingPool& pool,
                                                             base::Random& random) {
  ASSIGN_OR_RETURN(auto capabilities, file_capabilities(options));
  ASSIGN_OR_RETURN(auto store, FileStore::open(options, random));
  return std::unique_ptr<FilesConnector>(
      new FilesConnector(std::move(options), std::move(store), std::move(capabilities), pool));
}

Task<Outcome<ToolResult>> FilesConnector::invoke(Approved<Invocation> call, Progress progress) {
  // Shared with the work: should the loop be torn down under this coroutine,
  // the pool thread still holds what it reads.
  auto shared = std::make_shared<const Approved<Invocation>>(std::move(call));
  Watch watch{.deadline = (*shared)->context.deadline};
  auto loop = co_await boost::asio::this_coro::executor;
  auto teller = std::make_shared<Teller>(Teller{std::move(progress)});
  auto visited = visited_on(loop, teller);
  auto work = [this, shared, watch, visited = std::move(visited)] {
    return run(**shared, watch, visited);
  };
  auto outcome = co_await run_stoppable(*pool_, watch.stopped, std::move(work));
  teller->ended = true;
  co_return outcome;
}

Outcome<ToolResult> FilesConnector::run(const Invocation& call, const Watch& watch,
                                        const Visited& visited) {
  if (auto wanted = watch.check(); !wanted) return failed(std::move(wanted).error());
  if (call.tool.space() == options_.space) {
    if (call.tool.name() == "read") return read(call, watch);
    if (call.tool.name() == "list") return list(call, watch, visited);
    if (call.tool.name() == "stat") return stat(call);
    if (call.tool.name() == "write") return write(call, watch);
    if (call.tool.name() == "delete") return remove(call);
  }
  return refuse(Code::kShape, "tool: not one of this connector");
}

Outcome<ToolResult> FilesConnector::read(const Invocation& call, const Watch& watch) {
  auto request = read_arguments(call.args);
  if (!request) return std::move(request).error();
  auto answer = store_->read(*request, watch);
  if (!answer) return failed(std::move(answer).error());
  return read_result(*request, *answer);
}

Outcome<ToolResult> FilesConnector::write(const Invocation& call, const Watch& watch) {
  auto request = write_arguments(call.args, options_.write_cap);
  if (!request) return std::move(request).error();
  request->effect = effect_of(call);
  auto answer = store_->write(*request, watch);
  if (!answer) return failed(std::move(answer).error());
  return write_result(*request, *answer);
}

Outcome<ToolResult> FilesConnector::list(const Invocation& call, const Watch& watch,
                                         const Visited& visited) {
  auto request = list_arguments(call.args);
  if (!request) return std::move(request).error();
  auto answer = store_->list(*request, watch, visited);
  if (!answer) return failed(std::move(answer).error());
  return list_result(*request, *answer);
}

Outcome<ToolResult> FilesConnector::stat(const Invocation& call) {
  auto path = path_arguments(call.args);
  if (!path) return std::move(path).error();
  auto facts = store_->stat(*path);
  if (!facts) return failed(std::move(facts).error());
  return stat_result(*path, *facts);
}

Outcome<ToolResult> FilesConnector::remove(const Invocation& call) {
  auto path = path_arguments(call.args);
  if (!path) return std::move(path).error();
  auto removed = store_->remove(*path, effect_of(call));
  if (!removed) return failed(std::move(removed).error());
  return delete_result(*path, effect_of(call));
}

}  // namespace tool::files
