#include "toolserver/workflow/flow_operations.h"

#include <utility>

namespace tool::workflow {
namespace {

namespace json = base::json;

Outcome<Ulid> read_run(const json::Object& payload) {
  const auto* text = payload.if_contains("run");
  if (text == nullptr || !text->is_string()) return refuse(Code::kShape, "p.run: must be a ULID");
  auto id = Ulid::parse(std::string_view(text->get_string()));
  if (!id || !id->known()) return refuse(Code::kShape, "p.run: must be a ULID");
  return *id;
}

Progress to_events(transport::EventSink& events) {
  return [&events](double done, std::optional<double> total, std::string note) {
    json::Object payload{{"done", done}, {"note", note}};
    if (total) payload["total"] = *total;
    events.progress(std::move(payload));
  };
}

}  // namespace

Outcome<FlowRequest> read_flow_run(json::Object payload) {
  auto run = read_run(payload);
  if (!run) return std::move(run).error();
  FlowRequest request{.run = *run, .workflow = {}, .input = nullptr};
  if (auto* workflow = payload.if_contains("workflow")) {
    if (!workflow->is_object()) return refuse(Code::kShape, "p.workflow: must be an object");
    request.workflow = std::move(workflow->get_object());
  }
  if (auto* input = payload.if_contains("input")) {
    if (!request.workflow) return refuse(Code::kShape, "p.input: is given with its workflow alone");
    if (!input->is_object()) return refuse(Code::kShape, "p.input: must be an object");
    request.input = std::move(*input);
  }
  return request;
}

base::Task<transport::Answer> FlowOperations::run(base::RequestContext,
                                                  std::shared_ptr<const transport::Caller> caller,
                                                  session::Op op, Envelope request,
                                                  transport::EventSink& events) {
  FlowCaller who;
  who.principal = {caller, &caller->principal};  // As long as the caller.
  who.session_id = caller->session_id;
  who.peer = caller->peer;
  who.mode = mode_;
  if (request.meta) who.traceparent = std::move(request.meta->traceparent);
  Outcome<json::Object> answer = refuse(Code::kOp, "no such operation");
  if (op == session::Op::kFlowRun) {
    auto asked = read_flow_run(std::move(request.payload));
    if (!asked) co_return std::unexpected(transport::Refusal{std::move(asked).error(), {}});
    answer = co_await flows_.run(std::move(who), std::move(*asked), to_events(events));
  } else {
    auto id = read_run(request.payload);
    if (!id) co_return std::unexpected(transport::Refusal{std::move(id).error(), {}});
    if (op == session::Op::kFlowGet) answer = co_await flows_.get(std::move(who), *id);
    if (op == session::Op::kFlowCancel) {
      answer = co_await flows_.cancel(std::move(who), *id, to_events(events));
    }
  }
  if (!answer) co_return std::unexpected(transport::Refusal{std::move(answer).error(), {}});
  co_return std::move(*answer);
}

}  // namespace tool::workflow
