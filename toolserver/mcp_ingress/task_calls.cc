// Calls as tasks: which of them become one, and what its owner can do with it.
// Source: MCP extension io.modelcontextprotocol/tasks (SEP-2663).

#include <fmt/format.h>

#include <boost/asio/this_coro.hpp>
#include <utility>

#include "toolserver/mcp_ingress/call_rounds.h"
#include "toolserver/mcp_ingress/dispatcher.h"
#include "toolserver/mcp_ingress/params.h"
#include "toolserver/mcp_ingress/pipeline_tools.h"
#include "toolserver/mcp_ingress/task_view.h"
#include "toolserver/mcp_ingress/tasks.h"
#include "toolserver/pipeline/rate.h"

namespace tool::mcp_ingress {

/// A task of the caller's: it is under way here, or a record has it.
struct FoundTask {
  std::string id;
  std::shared_ptr<LiveTask> live;  ///< Null: see `kept`.
  KeptCall kept;
};

namespace {

namespace json = base::json;
namespace method = mcp::method;
using std::chrono::steady_clock;

// The same for one that is not there, another's, and one whose tool the caller may not
// call any more.
Reply no_such_task() {
  return error_reply(200, mcp::code::kInvalidParams, "params.taskId: there is no such task");
}

base::Task<Reply> answer_with(Reply reply) { co_return reply; }

Reply empty_reply() {
  Reply reply;
  reply.body = json::Object();
  return reply;
}

bool may_see(const Principal& caller, const LiveTask::Facts& task) {
  auto tool = tool_of_scope(task.scope);
  if (!tool || !caller.scopes.allows_invoke(*tool)) return false;
  return !caller.details.names(*tool) || caller.details.admits(task.creator->details);
}

// A call that a record has, where nothing of it has to be done.
TaskView view_of(const FoundTask& task, mcp::Revision revision, std::chrono::milliseconds life) {
  const KeptCall& kept = task.kept;
  TaskView view;
  view.id = task.id;
  view.created = kept.began;
  view.changed = kept.changed;
  view.life = kept.life.count() > 0 ? kept.life : life;
  if (kept.state == KeptCall::State::kTakenBack) {
    view.status = TaskStatus::kCancelled;
    view.message = kTakenBack;
  }
  if (kept.state == KeptCall::State::kGoesOn) {
    view.message = "it waits: as many tasks run as one caller may have";
  }
  if (!kept.outcome) return view;
  const Outcome<ToolResult>& outcome = *kept.outcome;
  if (outcome) {
    view.status = TaskStatus::kCompleted;
    view.result = mcp::write_result(*outcome, revision);
    return view;
  }
  view.status = TaskStatus::kFailed;
  view.message = outcome.error().message;
  view.error = fault_reply(outcome.error()).body.error();
  return view;
}

// The request of the call itself, in place of the one that asks for it.
std::shared_ptr<Call> call_again(const Call& asked, const KeptCall& kept) {
  auto again = std::make_shared<Call>(asked);
  again->request.method = method::kCallTool;
  again->request.params = {{"name", kept.tool}, {"arguments", kept.arguments}};
  again->meta.progress_token.reset();
  again->meta.log_level.clear();
  again->meta.idempotency_key.clear();
  return again;
}

}  // namespace

// Nothing: the call is none, and is made as every other.
base::Task<std::optional<Reply>> Dispatcher::call_as_task(std::shared_ptr<const Call> call) const {
  bool can_be = offers_tasks() && mcp::is_stateless(call->revision) && declares_tasks(call->client);
  if (!can_be && providers_.only_as_tasks.empty()) co_return std::nullopt;
  auto name = text_param(call->request.params, "name");
  auto arguments = object_param(call->request.params, "arguments");
  if (!name || !arguments) co_return std::nullopt;
  std::string scope = co_await tools_.scope_of(call, *name, std::move(*arguments));
  if (!can_be) {
    auto tool = tool_of_scope(scope);
    bool must_be = tool && providers_.only_as_tasks.contains(tool->text()) &&
                   call->caller->scopes.allows_describe(*tool);
    if (must_be) co_return lacks_tasks();
    co_return std::nullopt;
  }
  bool lasts = tools_.is_recorded(scope);
  Tasks::Asked asked{.creator = call->caller, .scope = std::move(scope), .peer = call->peer};
  if (lasts) {
    asked.lasts = LiveTask::Lasts::kByItsRecord;
    asked.life = tools_.record_life();
  }
  auto loop = co_await boost::asio::this_coro::executor;
  auto task = host_->tasks.open(std::move(asked), host_->limits, loop, call->side).task;
  if (!task) co_return std::nullopt;
  auto inner = std::make_shared<Call>(*call);
  inner->side = task;
  host_->tasks.run(task, task_work(std::move(inner), task));
  auto reply = co_await task->hand_over(steady_clock::now() + host_->limits.patience);
  if (reply) {
    host_->tasks.forget(task);
    co_return reply;
  }
  Reply handle;
  handle.body = write_handle(task->view());
  co_return handle;
}

base::Task<Reply> Dispatcher::task_work(std::shared_ptr<const Call> call,
                                        const std::shared_ptr<LiveTask>& task) const {
  auto work = tool_work(*call);
  if (!work) return answer_with(std::move(work).error());
  (*work)->progress = task->progress();
  (*work)->call_id = task->facts().id;
  (*work)->time = host_->limits.time;
  return play(std::move(call), std::move(*work));
}

base::Task<std::expected<FoundTask, Reply>> Dispatcher::find_task(
    std::shared_ptr<const Call> call) const {
  auto id = text_param(call->request.params, "taskId");
  if (!id) co_return std::unexpected(std::move(id).error());
  FoundTask found{std::move(*id), nullptr, {}};
  found.live = host_->tasks.find(pipeline::key_of(*call->caller), found.id);
  if (found.live) {
    if (!may_see(*call->caller, found.live->facts())) co_return std::unexpected(no_such_task());
    co_return found;
  }
  auto kept = co_await tools_.find_call(call, found.id);
  if (!kept) co_return std::unexpected(fault_reply(kept.error()));
  if (!*kept) co_return std::unexpected(no_such_task());
  found.kept = std::move(**kept);
  co_return found;
}

// A recorded call whose driver is gone is made again by its id, by whoever it belongs
// to: every check of a call is made again, too. Null: it has to wait.
base::Task<std::shared_ptr<LiveTask>> Dispatcher::go_on(std::shared_ptr<const Call> call,
                                                        std::string id, KeptCall kept) const {
  auto inner = call_again(*call, kept);
  Tasks::Asked asked{.id = std::move(id),
                     .creator = call->caller,
                     .scope = "tool:invoke:" + kept.tool,
                     .peer = call->peer,
                     .lasts = LiveTask::Lasts::kByItsRecord,
                     .created = kept.began,
                     .life = kept.life};
  auto loop = co_await boost::asio::this_coro::executor;
  auto opened = host_->tasks.open(std::move(asked), host_->limits, loop, nullptr);
  if (!opened.is_new) co_return opened.task;
  auto task = std::move(opened.task);
  inner->side = task;
  task->hand_over_now();
  host_->tasks.run(task, task_work(std::move(inner), task));
  // One that is over says so at once.
  (void)co_await task->wait_for_news(steady_clock::now() + host_->limits.patience);
  co_return task;
}

base::Task<Reply> Dispatcher::get_task(std::shared_ptr<const Call> call) const {
  auto found = co_await find_task(call);
  if (!found) co_return std::move(found).error();
  auto live = found->live;
  if (!live && found->kept.state == KeptCall::State::kGoesOn) {
    live = co_await go_on(call, found->id, found->kept);
  }
  auto view = live ? live->view() : view_of(*found, call->revision, 2 * host_->limits.time);
  Reply reply;
  reply.body = write_task(std::move(view));
  co_return reply;
}

std::optional<mcp::Notification> Dispatcher::task_news(const Principal& caller,
                                                       const std::string& id) const {
  if (!offers_tasks()) return std::nullopt;
  auto live = host_->tasks.find(pipeline::key_of(caller), id);
  if (!live || !may_see(caller, live->facts())) return std::nullopt;
  json::Object params = write_task(live->view());
  params.erase("resultType");
  return mcp::Notification{std::string(method::kTaskChanged), std::move(params)};
}

base::Task<Reply> Dispatcher::update_task(std::shared_ptr<const Call> call) const {
  if (!call->request.params.contains("inputResponses")) {
    co_return error_reply(200, mcp::code::kInvalidParams,
                          "params.inputResponses: must be an object");
  }
  auto inputs = inputs_of(call->request.params);
  if (!inputs) co_return std::move(inputs).error();
  auto found = co_await find_task(call);
  if (!found) co_return std::move(found).error();
  if (found->live) found->live->answer((*inputs)->responses);
  co_return empty_reply();
}

base::Task<Reply> Dispatcher::cancel_task(std::shared_ptr<const Call> call) const {
  auto found = co_await find_task(call);
  if (!found) co_return std::move(found).error();
  auto recorded = tools_.record(*call, "mcp_task_cancel", found->id);
  if (!recorded) co_return fault_reply(recorded.error());
  bool lasts = found->live ? found->live->facts().lasts == LiveTask::Lasts::kByItsRecord
                           : found->kept.state == KeptCall::State::kGoesOn;
  if (!lasts) {
    if (found->live) found->live->cancel(LiveTask::By::kOwner);
    co_return empty_reply();
  }
  if (found->live && found->live->has_ended() && !found->live->waits()) co_return empty_reply();
  auto taken = co_await tools_.take_back(call, found->id);
  // One that has no record yet has begun nothing.
  bool has_record = taken || taken.error().code != Code::kShape;
  if (!taken && (has_record || !found->live)) co_return fault_reply(taken.error());
  bool ends_itself = taken && *taken == ToolBackend::TakenBack::kUnderWay;
  if (found->live && !ends_itself) found->live->cancel(LiveTask::By::kOwner);
  // Of one that had ended its record tells from now on.
  if (found->live) host_->tasks.forget(found->live);
  co_return empty_reply();
}

}  // namespace tool::mcp_ingress
