#include "toolserver/workflow/driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdlib>
#include <span>
#include <utility>

#include "toolserver/transport/tool_payloads.h"

namespace tool::workflow {
namespace {

namespace asio = boost::asio;
namespace json = base::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

json::Object result_of(ToolResult result) {
  json::Object out{{"is_error", result.is_error}};
  auto& content = out["content"].emplace_array();
  for (auto& part : result.content) content.push_back(transport::write_content(std::move(part)));
  if (result.structured) out["structured"] = std::move(*result.structured);
  return out;
}

}  // namespace

struct Driver::Call {
  std::size_t step = 0;
  Side side = Side::kDo;
  pipeline::PipelineCall call;
  milliseconds time{};
  std::shared_ptr<asio::cancellation_signal> cancel = std::make_shared<asio::cancellation_signal>();
};

Driver::Driver(const FlowOptions& options, const FlowParts& parts, FlowCaller caller, RunName name,
               base::WallTime started, Run& run, RunFile& file, RunStore::Driving& driving,
               Progress progress, const asio::any_io_executor& loop)
    : options_(options),
      parts_(parts),
      caller_(std::move(caller)),
      name_(std::move(name)),
      end_(started + run.workflow().time),
      run_(run),
      file_(file),
      driving_(driving),
      progress_(std::move(progress)),
      tasks_(loop),
      changed_(loop),
      self_(std::make_shared<Driver*>(this)) {}

std::string Driver::key_of(std::size_t step, Side side, unsigned attempt) const {
  return fmt::format("flow:{}:{}:{}:{}", name_.id.text(), run_.workflow().steps[step].name,
                     side == Side::kDo ? "do" : "undo", attempt);
}

bool Driver::is_late() const { return parts_.clock.now() >= end_; }

// In memory at once, in the file before anything that follows from it is done.
void Driver::note(std::vector<Record>& records, Record record) {
  if (auto applied = run_.apply(record); !applied) std::abort();  // A defect of ours.
  records.push_back(std::move(record));
}

void Driver::tell(const End& end) {
  if (!progress_ || end.status == "not_begun") return;
  const auto& at = run_.progression(end.step, end.side);
  std::string note = fmt::format("{}{}: {}", end.side == Side::kUndo ? "undo " : "",
                                 run_.workflow().steps[end.step].name,
                                 at.state == StepState::kWaiting ? "again after " + end.status
                                 : end.status == "ok"            ? "done"
                                                                 : end.status);
  progress_(static_cast<double>(run_.ended()), static_cast<double>(run_.workflow().steps.size()),
            std::move(note));
}

// Whether the node that has the tool surely knows what became of a call, by its key.
bool Driver::can_ask(std::size_t step, Side side) const {
  const Step& one = run_.workflow().steps[step];
  const ToolUse& use = side == Side::kDo ? one.use : *one.undo;
  return parts_.clock.now() < run_.progression(step, side).known_until &&
         parts_.pipeline.keeps_keys(use.tool);
}

// What became of a call that an earlier driver began. Nothing: it surely never
// began, or another node knows, and the call may be made now.
std::optional<End> Driver::outcome_of(std::size_t step, Side side) const {
  const auto& at = run_.progression(step, side);
  auto seen = parts_.pipeline.outcome(*caller_.principal, at.request_id);
  End end{.step = step, .side = side, .status = {}, .message = {}, .result = {}};
  end.at = parts_.clock.now();
  bool is_certain = end.at < at.known_until;
  if (seen.state == outcomes::State::kNever && is_certain) return std::nullopt;
  if (seen.state == outcomes::State::kUnknown && can_ask(step, side)) return std::nullopt;
  if (seen.state == outcomes::State::kFinished && seen.ended->fault) {
    end.status = tool::name(seen.ended->fault->code);
    end.message = seen.ended->fault->message;
  } else if (seen.state == outcomes::State::kFinished && seen.ended->answer) {
    end.status = seen.ended->status;
    end.result = result_of(std::move(seen.ended->answer->result));
  } else {
    end.status = "unknown";
    end.message =
        seen.state == outcomes::State::kFinished
            ? "the call ran, and its answer is no longer to be had"
            : "the service ended while the call ran; whether it did its work is not known";
  }
  return end;
}

// A call that was cut off; or one of which nobody could tell, and now somebody can.
bool Driver::may_take_over(std::size_t step, Side side) const {
  StepState state = run_.progression(step, side).state;
  if (state != StepState::kUnknown) return state == StepState::kBegun;
  bool is_wanted = side == Side::kUndo || (!run_.is_turned() && !driving_.is_cancelled());
  return is_wanted && can_ask(step, side) && !outcome_of(step, side);
}

void Driver::take_over(std::vector<Record>& records) {
  for (std::size_t i = 0; i < run_.workflow().steps.size(); ++i) {
    for (Side side : {Side::kDo, Side::kUndo}) {
      if (!may_take_over(i, side)) continue;
      auto end = outcome_of(i, side);
      if (!end) {
        // The same attempt is made, under the same key.
        end = End{.step = i, .side = side, .status = "not_begun", .message = {}, .result = {}};
      }
      note(records, *end);
      tell(*end);
    }
  }
}

End Driver::end_of(const Call& call, Outcome<pipeline::PipelineReply> reply) const {
  End end{.step = call.step, .side = call.side, .status = "ok", .message = {}, .result = {}};
  end.at = parts_.clock.now();
  if (reply && reply->result.input_needed) {
    end.status = tool::name(Code::kConsent);
    end.message = "the tool has to ask the caller, who cannot be asked here";
  } else if (reply) {
    if (reply->result.is_error) end.status = "tool_error";
    end.result = result_of(std::move(reply->result));
  } else {
    end.status = tool::name(reply.error().code);
    end.message = std::move(reply.error().message);
    auto seen = parts_.pipeline.outcome(*caller_.principal, call.call.request_id);
    // Of these alone it matters whether the tool had begun.
    bool may_wait = reply.error().code == Code::kCancelled || reply.error().code == Code::kExpired;
    if (may_wait && seen.state == outcomes::State::kNever) end.status = "not_begun";
    if (seen.state == outcomes::State::kUnknown) end.status = "unknown";
  }
  return end;
}

// The ends of calls, with the results that the record still has room for.
void Driver::take_ends(std::vector<Record>& records) {
  std::size_t bytes = file_.size();
  for (auto& end : std::exchange(ends_, {})) {
    std::size_t size = json::write(end.result).size();
    if (bytes + size > options_.bounds.bytes && !turn_) {
      turn_ = Turn{"failed", std::string(tool::name(Code::kLimit)),
                   fmt::format("step {}: the outputs of the run are over {} bytes",
                               run_.workflow().steps[end.step].name, options_.bounds.bytes)};
    }
    if (bytes + size > options_.bounds.bytes) {
      end.result = {{"is_error", end.status != "ok"}};
    } else {
      bytes += size;
    }
    note(records, end);
    tell(end);
  }
}

void Driver::begin(std::size_t step, Side side, std::vector<Record>& records,
                   std::vector<std::shared_ptr<Call>>& calls) {
  const Step& one = run_.workflow().steps[step];
  const ToolUse& use = side == Side::kDo ? one.use : *one.undo;
  auto now = parts_.clock.now();
  auto arguments = run_.arguments(step, side, options_.bounds.arguments);
  if (!arguments) {
    End end{.step = step, .side = side, .status = {}, .message = {}, .result = {}};
    end.status = tool::name(arguments.error().code);
    end.message = std::move(arguments.error().message);
    end.at = now;
    note(records, end);
    return tell(end);
  }
  auto made = std::make_shared<Call>();
  made->step = step;
  made->side = side;
  made->time = use.time.value_or(options_.step_time);
  if (side == Side::kDo) {
    auto left = std::chrono::ceil<milliseconds>(end_ - now);
    made->time = std::clamp(made->time, milliseconds(1), std::max(left, milliseconds(1)));
  }
  auto& call = made->call;
  parts_.random.fill(std::as_writable_bytes(std::span(&call.log_id, 1)));
  call.request_id = Ulid::make(now, parts_.random).text();
  call.session_id = caller_.session_id;
  call.peer = caller_.peer;
  call.traceparent = caller_.traceparent;
  call.principal = caller_.principal;
  call.mode = caller_.mode;
  call.tool = use.tool.text();
  call.args = std::move(arguments->values);
  call.deadline = made->time;
  call.idem.key = key_of(step, side, run_.progression(step, side).attempt + 1);
  call.hop = caller_.hop;
  call.forwarded = caller_.forwarded;
  call.flow = fmt::format("{}/{}{}", name_.id.text(), one.name, side == Side::kDo ? "" : "/undo");
  call.taken = std::move(arguments->taken);
  note(records, Begin{step, side, call.request_id, now, now + options_.keys_kept});
  calls.push_back(std::move(made));
}

void Driver::plan_turn(std::vector<Record>& records) {
  if (driving_.is_cancelled()) return note(records, Turn{"cancelled", {}, {}});
  if (turn_) return note(records, *turn_);
  const auto& steps = run_.workflow().steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& at = run_.progression(i, Side::kDo);
    if (at.state == StepState::kUnknown) return;  // Somebody has to look.
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& at = run_.progression(i, Side::kDo);
    if (at.state != StepState::kFailed || steps[i].may_fail) continue;
    std::string why = "step " + steps[i].name;
    if (!at.message.empty()) why += ": " + at.message;
    return note(records, Turn{"failed", at.status, std::move(why)});
  }
}

void Driver::plan_steps(std::vector<Record>& records, std::vector<std::shared_ptr<Call>>& calls) {
  auto now = parts_.clock.now();
  while (true) {
    auto ready = run_.ready();
    for (auto& end : ready.broken) {
      end.at = now;
      note(records, end);
      tell(end);
    }
    bool moved = !ready.broken.empty();
    for (std::size_t step : ready.steps) {
      if (run_.has_failed() || run_.running() >= run_.workflow().parallel) break;
      if (run_.progression(step, Side::kDo).not_before > now) continue;
      if (is_late()) {
        if (!turn_) {
          turn_ = Turn{"failed", std::string(tool::name(Code::kTimeout)),
                       "the time of the run is over"};
        }
        break;
      }
      begin(step, Side::kDo, records, calls);
      moved = moved || run_.progression(step, Side::kDo).state != StepState::kBegun;
    }
    // One that came to its end without a call may have others after it.
    if (!moved) return;
  }
}

void Driver::plan_undo(std::vector<Record>& records, std::vector<std::shared_ptr<Call>>& calls) {
  while (run_.running() == 0) {
    auto step = run_.next_undo();
    if (!step) return note(records, Finish{run_.turn().why, std::nullopt, {}});
    if (run_.progression(*step, Side::kUndo).not_before > parts_.clock.now()) return;
    begin(*step, Side::kUndo, records, calls);
  }
}

// What follows from the state of the run: lines first, then calls.
std::vector<std::shared_ptr<Driver::Call>> Driver::plan(std::vector<Record>& records) {
  std::vector<std::shared_ptr<Call>> calls;
  take_ends(records);
  if (stop_) return calls;
  if (!run_.is_turned() && driving_.is_cancelled()) {
    cancel_calls();
  } else if (!run_.is_turned() && !turn_) {
    plan_steps(records, calls);
  }
  bool is_still = run_.running() == 0;
  if (!run_.is_turned() && is_still) plan_turn(records);
  if (run_.is_turned()) {
    plan_undo(records, calls);
    return calls;
  }
  bool has_more = !run_.ready().steps.empty() || run_.has_failed();
  if (!is_still || has_more) return calls;
  auto output = run_.output(options_.answer_bytes);
  Finish finish{"done", std::nullopt, {}};
  if (output) {
    finish.output = std::move(*output);
  } else {
    finish.message = std::move(output.error().message);
  }
  note(records, std::move(finish));
  return calls;
}

void Driver::cancel_calls() {
  for (const auto& call : std::vector(calls_))
    call->cancel->emit(asio::cancellation_type::terminal);
}

// False: cancelled.
base::Task<bool> Driver::pause(milliseconds time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  boost::system::error_code woken;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  co_return !woken;
}

// Until it has an end. What was refused before it began is asked for again while
// its time lasts: there was no room for it.
base::Task<void> Driver::make(std::shared_ptr<Call> call) {
  co_await asio::this_coro::throw_if_cancelled(false);
  auto by = steady_clock::now() + call->time;
  while (true) {
    auto reply = co_await parts_.pipeline.run(call->call, Progress());
    Code code = reply ? Code::kInternal : reply.error().code;
    bool has_no_room = !reply && (code == Code::kBusy || code == Code::kRate);
    auto wait =
        has_no_room ? reply.error().retry_after.value_or(milliseconds(1'000)) : milliseconds(0);
    if (has_no_room && steady_clock::now() + wait < by) {
      if (co_await pause(wait)) continue;
      reply = Outcome<pipeline::PipelineReply>(refuse(Code::kCancelled, "cancelled"));
    }
    if (code == Code::kExpired && !stop_) stop_ = reply.error();
    ends_.push_back(end_of(*call, std::move(reply)));
    break;
  }
  std::erase(calls_, call);
  changed_.cancel();
}

// Until a call ends, a pause of a step is over, or somebody cancels.
base::Task<void> Driver::wait() {
  // A cancellation that came before the wait begins does not wake it.
  auto cancellation = co_await asio::this_coro::cancellation_state;
  bool is_cancelled = cancellation.cancelled() != asio::cancellation_type::none;
  if (!ends_.empty() || is_cancelled) co_return;
  auto until = base::WallTime::max();
  if (!stop_) {
    for (std::size_t i = 0; i < run_.workflow().steps.size(); ++i) {
      for (Side side : {Side::kDo, Side::kUndo}) {
        const auto& at = run_.progression(i, side);
        if (at.state == StepState::kWaiting && at.attempt > 0) {
          until = std::min(until, at.not_before);
        }
      }
    }
  }
  auto now = parts_.clock.now();
  if (until == base::WallTime::max()) {
    changed_.expires_at(steady_clock::time_point::max());
  } else {
    changed_.expires_after(std::max(until - now, base::WallTime::duration(1'000)));
  }
  boost::system::error_code woken;
  co_await changed_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

base::Task<Outcome<void>> Driver::drive() {
  co_await asio::this_coro::throw_if_cancelled(false);
  driving_.on_cancel([loop = changed_.get_executor(), weak = std::weak_ptr<Driver*>(self_)] {
    asio::post(loop, [weak] {
      if (auto driver = weak.lock()) (*driver)->changed_.cancel();
    });
  });
  std::vector<Record> records;
  take_over(records);
  while (true) {
    auto cancellation = co_await asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != asio::cancellation_type::none) {
      if (!stop_) stop_ = refuse(Code::kCancelled, "cancelled");
      cancel_calls();
      co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    }
    if (!stop_ && parts_.is_draining && parts_.is_draining()) {
      stop_ = refuse(Code::kBusy, "the service stops; the run waits");
      stop_->retry_after = milliseconds(1'000);
    }
    auto calls = plan(records);
    if (!records.empty()) {
      auto written = co_await parts_.store.append(file_, std::exchange(records, {}));
      // What was to begin has not; what runs is waited for, and nobody will know.
      if (!written) {
        stop_ = std::move(written).error();
        calls.clear();
        break;
      }
    }
    for (auto& call : calls) {
      calls_.push_back(call);
      tasks_.spawn(make(call), call->cancel);
    }
    bool is_still = calls_.empty() && ends_.empty();
    if (is_still && (run_.is_over() || stop_ || run_.state() == RunState::kUnknown)) break;
    co_await wait();
  }
  driving_.on_cancel(nullptr);
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_await tasks_.wait();
  if (stop_ && !run_.is_over()) co_return *stop_;
  co_return Outcome<void>();
}

}  // namespace tool::workflow
