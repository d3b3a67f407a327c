#include "toolserver/workflow/flows.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "toolserver/pipeline/rate.h"
#include "toolserver/workflow/tool_check.h"

namespace tool::workflow {
namespace {

namespace asio = boost::asio;
namespace json = base::json;

Fault no_such_run() { return refuse(Code::kShape, "p.run: there is no such run"); }

Fault driven() {
  Fault fault = refuse(Code::kBusy, "the run is under way");
  fault.retry_after = std::chrono::milliseconds(1'000);
  return fault;
}

// Whether the run that is there is the one that is asked for.
bool is_same(const Start& there, FlowRequest& request) {
  bool is_of_tool = !request.tool.empty() && there.tool == request.tool;
  Start again{
      is_of_tool ? there.workflow : std::move(*request.workflow), std::move(request.input), {}};
  std::string digest = again.digest();
  return !digest.empty() && digest == there.digest();
}

json::Object answer_of(const RunName& name, const Run& run) {
  json::Object out = run.report();
  out["run"] = name.id.text();
  return out;
}

}  // namespace

Outcome<Workflow> Flows::check(const FlowCaller& caller, json::Object source,
                               const json::Value& input) const {
  auto workflow = read_workflow(std::move(source), options_.bounds);
  if (!workflow) return workflow;
  if (auto fits = check_input(*workflow, input); !fits) return std::move(fits).error();
  auto find = [&](const std::string& tool) {
    return parts_.pipeline.capability(*caller.principal, caller.mode, tool);
  };
  auto fits = check_tools(*workflow, caller.principal->scopes, find);
  if (!fits) return std::move(fits).error();
  return workflow;
}

base::Task<Outcome<json::Object>> Flows::go_on(FlowCaller caller, RunName name,
                                               std::shared_ptr<RunStore::Driving> driving,
                                               RunStore::Loaded loaded,
                                               std::unique_ptr<RunFile> file, Progress progress) {
  Driver driver(options_, parts_, std::move(caller), name, loaded.start.at, loaded.run, *file,
                *driving, std::move(progress), co_await asio::this_coro::executor);
  auto driven = co_await driver.drive();
  if (!driven) co_return std::move(driven).error();
  co_return answer_of(name, loaded.run);
}

base::Task<Outcome<json::Object>> Flows::run(FlowCaller caller, FlowRequest request,
                                             Progress progress) {
  co_await asio::this_coro::throw_if_cancelled(false);
  RunName name{pipeline::key_of(*caller.principal), request.run};
  auto driving = parts_.store.drive(name);
  if (!driving) co_return driven();
  auto loaded = co_await parts_.store.load(name);
  if (!loaded) co_return std::move(loaded).error();
  if (*loaded) {
    auto& there = **loaded;
    if (request.workflow && !is_same(there.start, request)) {
      co_return refuse(Code::kShape, "p.run: is the id of a run of another workflow or input");
    }
    if (there.run.is_over()) co_return answer_of(name, there.run);
    if (request.kept) request.kept(there.run);
    auto file = co_await parts_.store.resume(name, there.size);
    if (!file) co_return std::move(file).error();
    co_return co_await go_on(std::move(caller), std::move(name), std::move(driving),
                             std::move(there), std::move(*file), std::move(progress));
  }
  if (!request.workflow) co_return no_such_run();
  auto workflow = check(caller, std::move(*request.workflow), request.input);
  if (!workflow) co_return std::move(workflow).error();
  Start start{workflow->source, std::move(request.input), parts_.clock.now(),
              std::move(request.tool)};
  auto file = co_await parts_.store.create(name, start);
  if (!file) co_return std::move(file).error();
  Run run(std::move(*workflow), start.input);
  if (request.kept) request.kept(run);
  RunStore::Loaded made{std::move(start), std::move(run), (*file)->size()};
  co_return co_await go_on(std::move(caller), std::move(name), std::move(driving), std::move(made),
                           std::move(*file), std::move(progress));
}

base::Task<Outcome<json::Object>> Flows::get(FlowCaller caller, Ulid run) {
  co_await asio::this_coro::throw_if_cancelled(false);
  RunName name{pipeline::key_of(*caller.principal), run};
  auto loaded = co_await parts_.store.load(name);
  if (!loaded) co_return std::move(loaded).error();
  if (!*loaded) co_return no_such_run();
  json::Object out = answer_of(name, (*loaded)->run);
  out["driven"] = parts_.store.is_driven(name);
  co_return out;
}

base::Task<Outcome<std::optional<FoundRun>>> Flows::find(FlowCaller caller, Ulid run) {
  co_await asio::this_coro::throw_if_cancelled(false);
  RunName name{pipeline::key_of(*caller.principal), run};
  auto loaded = co_await parts_.store.load(name);
  if (!loaded) co_return std::move(loaded).error();
  if (!*loaded) co_return std::optional<FoundRun>();
  Start& start = (*loaded)->start;
  co_return std::optional(FoundRun{std::move(start.tool), std::move(start.input),
                                   (*loaded)->run.state(), std::max(start.at, (*loaded)->changed)});
}

base::Task<Outcome<json::Object>> Flows::cancel(FlowCaller caller, Ulid run, Progress progress) {
  co_await asio::this_coro::throw_if_cancelled(false);
  RunName name{pipeline::key_of(*caller.principal), run};
  if (parts_.store.cancel(name)) co_return co_await get(std::move(caller), run);
  auto driving = parts_.store.drive(name);
  if (!driving) co_return driven();
  auto loaded = co_await parts_.store.load(name);
  if (!loaded) co_return std::move(loaded).error();
  if (!*loaded) co_return no_such_run();
  if ((*loaded)->run.is_over()) co_return answer_of(name, (*loaded)->run);
  auto file = co_await parts_.store.resume(name, (*loaded)->size);
  if (!file) co_return std::move(file).error();
  driving->cancel();
  co_return co_await go_on(std::move(caller), std::move(name), std::move(driving),
                           std::move(**loaded), std::move(*file), std::move(progress));
}

}  // namespace tool::workflow
