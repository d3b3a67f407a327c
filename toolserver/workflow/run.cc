#include "toolserver/workflow/run.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "base/json/fields.h"

namespace tool::workflow {
namespace {

namespace json = base::json;
using base::ErrorKind;
using base::fail;
using std::chrono::microseconds;

constexpr std::chrono::milliseconds kMostPause{60'000};

base::Error out_of_order(std::string_view what) {
  return fail(ErrorKind::kCorrupt, "the record of a run: " + std::string(what));
}

// Whether an attempt that ended so may be followed by another one.
bool is_worth_another(std::string_view status) {
  constexpr std::array<std::string_view, 6> kPassing{"tool_error",  "E_UPSTREAM", "E_TIMEOUT",
                                                     "E_CANCELLED", "E_BUSY",     "unknown"};
  return std::ranges::find(kPassing, status) != kPassing.end();
}

// A cancelled call may have done its work or not.
bool is_unknown(std::string_view status) { return status == "unknown" || status == "E_CANCELLED"; }

bool has_ended(StepState state) {
  return state == StepState::kDone || state == StepState::kFailed || state == StepState::kSkipped;
}

std::int64_t micros(base::WallTime time) {
  return std::chrono::duration_cast<microseconds>(time.time_since_epoch()).count();
}

}  // namespace

std::string_view name(StepState state) {
  switch (state) {
    case StepState::kWaiting: return "waiting";
    case StepState::kBegun: return "running";
    case StepState::kDone: return "done";
    case StepState::kFailed: return "failed";
    case StepState::kSkipped: return "skipped";
    case StepState::kUnknown: return "unknown";
  }
  return "";
}

Run::Run(Workflow workflow, json::Value input)
    : workflow_(std::move(workflow)),
      steps_(workflow_.steps.size()),
      undos_(workflow_.steps.size()),
      document_(json::Object{{"input", std::move(input)}, {"steps", json::Object()}}) {}

const ToolUse& Run::use(std::size_t step, Side side) const {
  const Step& one = workflow_.steps[step];
  return side == Side::kDo ? one.use : *one.undo;
}

base::Status Run::apply(const Record& record) {
  if (is_over()) return out_of_order("a line after the last");
  return std::visit([this](const auto& one) { return apply_one(one); }, record);
}

base::Status Run::apply_one(const Begin& begin) {
  auto& at = (begin.side == Side::kDo ? steps_ : undos_)[begin.step];
  if (begin.side == Side::kUndo && !workflow_.steps[begin.step].undo) {
    return out_of_order("a step that cannot be taken back");
  }
  if (at.state != StepState::kWaiting) return out_of_order("a step that begins twice");
  if ((begin.side == Side::kUndo) != is_turned()) return out_of_order("a step out of its time");
  at.state = StepState::kBegun;
  ++at.attempt;
  at.request_id = begin.request_id;
  at.known_until = begin.known_until;
  return {};
}

base::Status Run::apply_one(const End& end) {
  auto& at = (end.side == Side::kDo ? steps_ : undos_)[end.step];
  if (end.side == Side::kUndo && !workflow_.steps[end.step].undo) {
    return out_of_order("a step that cannot be taken back");
  }
  // One that could not be made has no beginning. One of which nobody knew may be asked
  // for again.
  bool is_again = at.state == StepState::kUnknown && end.status == "not_begun";
  if (at.state != StepState::kBegun && at.state != StepState::kWaiting && !is_again) {
    return out_of_order("a step that ends twice");
  }
  at.status = end.status;
  at.message = end.message;
  if (end.status == "not_begun") {
    at.state = StepState::kWaiting;
    if (at.attempt > 0) --at.attempt;
    return {};
  }
  const ToolUse& called = use(end.step, end.side);
  bool can_again = at.state == StepState::kBegun && is_worth_another(end.status) &&
                   at.attempt < called.retry.attempts && (end.side == Side::kUndo || !is_turned());
  if (can_again) {
    auto pause = std::min(called.retry.pause * (1 << (at.attempt - 1)), kMostPause);
    at.not_before = end.at + pause;
    at.state = StepState::kWaiting;
    return {};
  }
  at.state = end.status == "ok"       ? StepState::kDone
             : is_unknown(end.status) ? StepState::kUnknown
                                      : StepState::kFailed;
  if (end.side == Side::kUndo) return {};
  if (at.state == StepState::kDone) done_.push_back(end.step);
  show(end.step, end.result);
  return {};
}

base::Status Run::apply_one(const Turn& turn) {
  if (is_turned()) return out_of_order("a second turn");
  turned_ = turn;
  return {};
}

base::Status Run::apply_one(const Finish& finish) {
  finished_ = finish.state;
  output_ = finish.output;
  why_no_output_ = finish.message;
  return {};
}

// Below /steps/<name>: its status for conditions, and what it answered.
void Run::show(std::size_t step, const json::Object& result) {
  json::Object shown(result);
  shown["status"] = tool::workflow::name(steps_[step].state);
  document_.at("steps").get_object()[workflow_.steps[step].name] = std::move(shown);
}

// Steps that take a value from one that has none are skipped, and so are those
// after them.
void Run::settle() {
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].state != StepState::kWaiting || steps_[i].attempt > 0) continue;
      const auto& takes = workflow_.steps[i].takes;
      bool lacks = std::ranges::any_of(takes, [&](std::size_t j) {
        return steps_[j].state == StepState::kSkipped ||
               (steps_[j].state == StepState::kFailed && workflow_.steps[j].may_fail);
      });
      if (!lacks) continue;
      steps_[i].state = StepState::kSkipped;
      show(i, {});
      moved = true;
    }
  }
}

Run::Ready Run::ready() {
  Ready out;
  if (is_turned() || has_failed()) return out;
  for (bool moved = true; moved;) {
    moved = false;
    settle();
    out = {};
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = workflow_.steps[i];
      if (steps_[i].state != StepState::kWaiting) continue;
      if (!std::ranges::all_of(step.after, [&](auto j) { return has_ended(steps_[j].state); })) {
        continue;
      }
      bool holds = true;
      for (const auto& condition : step.conditions) {
        auto told = condition.holds(document_);
        if (!told) {
          out.broken.push_back({.step = i,
                                .side = Side::kDo,
                                .status = std::string(tool::name(told.error().code)),
                                .message = "if: " + told.error().message,
                                .result = {},
                                .at = {}});
          holds = false;
          break;
        }
        holds = *told;
        if (!holds) {
          steps_[i].state = StepState::kSkipped;
          show(i, {});
          moved = true;
          break;
        }
      }
      if (holds) out.steps.push_back(i);
    }
  }
  return out;
}

std::optional<std::size_t> Run::next_undo() const {
  for (auto step = done_.rbegin(); step != done_.rend(); ++step) {
    if (!workflow_.steps[*step].undo) continue;
    StepState state = undos_[*step].state;
    if (state == StepState::kWaiting || state == StepState::kBegun) return *step;
  }
  return std::nullopt;
}

bool Run::has_failed() const {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].state == StepState::kUnknown) return true;
    if (steps_[i].state == StepState::kFailed && !workflow_.steps[i].may_fail) return true;
  }
  return false;
}

std::size_t Run::running() const {
  auto begun = [](const Progression& one) { return one.state == StepState::kBegun; };
  return static_cast<std::size_t>(std::ranges::count_if(steps_, begun) +
                                  std::ranges::count_if(undos_, begun));
}

std::size_t Run::ended() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(steps_, [](const auto& one) { return has_ended(one.state); }));
}

RunState Run::state() const {
  if (finished_ == "done") return RunState::kDone;
  if (finished_ == "failed") return RunState::kFailed;
  if (finished_ == "cancelled") return RunState::kCancelled;
  if (is_turned()) return RunState::kUndoing;
  auto unknown = [](const auto& one) { return one.state == StepState::kUnknown; };
  if (running() == 0 && std::ranges::any_of(steps_, unknown)) return RunState::kUnknown;
  return RunState::kOpen;
}

Outcome<Run::Arguments> Run::arguments(std::size_t step, Side side, std::size_t bytes) const {
  Arguments out;
  auto filled = fill(json::Value(use(step, side).args), document_, bytes, out.taken);
  if (!filled) {
    filled.error().message.insert(0, "args");
    return std::move(filled).error();
  }
  out.values = std::move(filled->get_object());
  return out;
}

Outcome<std::optional<json::Value>> Run::output(std::size_t bytes) const {
  if (!workflow_.output) return std::optional<json::Value>();
  std::vector<std::string> taken;
  auto filled = fill(*workflow_.output, document_, bytes, taken);
  if (!filled) {
    filled.error().message.insert(0, "output");
    return std::move(filled).error();
  }
  return std::optional(std::move(*filled));
}

json::Object Run::report() const {
  constexpr std::array<std::string_view, 6> kNames{"open", "undoing", "unknown",
                                                   "done", "failed",  "cancelled"};
  json::Object out{{"state", kNames[static_cast<std::size_t>(state())]}};
  auto& list = out["steps"].emplace_array();
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Progression& at = steps_[i];
    json::Object one{{"name", workflow_.steps[i].name},
                     {"state", tool::workflow::name(at.state)},
                     {"attempts", at.attempt}};
    if (!at.request_id.empty()) one["rid"] = at.request_id;
    if (!at.status.empty() && at.status != "ok") one["status"] = at.status;
    if (!at.message.empty()) one["msg"] = at.message;
    if (undos_[i].state != StepState::kWaiting || undos_[i].attempt > 0) {
      json::Object undo{{"state", tool::workflow::name(undos_[i].state)},
                        {"attempts", undos_[i].attempt}};
      if (!undos_[i].request_id.empty()) undo["rid"] = undos_[i].request_id;
      if (!undos_[i].status.empty() && undos_[i].status != "ok") undo["status"] = undos_[i].status;
      if (!undos_[i].message.empty()) undo["msg"] = undos_[i].message;
      one["undo"] = std::move(undo);
    }
    list.push_back(std::move(one));
  }
  if (output_) out["output"] = *output_;
  if (turned_ && !turned_->code.empty()) {
    out["error"] = {{"code", turned_->code}, {"msg", turned_->message}};
  }
  if (!why_no_output_.empty()) out["msg"] = why_no_output_;
  return out;
}

// One letter and few words: a run may have many lines.
std::string write_record(const Record& record) {
  json::Object out;
  auto side = [](Side one) { return one == Side::kDo ? "do" : "undo"; };
  if (const auto* begin = std::get_if<Begin>(&record)) {
    out = {{"line", "begin"},           {"step", begin->step},
           {"side", side(begin->side)}, {"rid", begin->request_id},
           {"at", micros(begin->at)},   {"until", micros(begin->known_until)}};
  } else if (const auto* end = std::get_if<End>(&record)) {
    out = {{"line", "end"},         {"step", end->step},       {"side", side(end->side)},
           {"status", end->status}, {"message", end->message}, {"result", end->result},
           {"at", micros(end->at)}};
  } else if (const auto* turn = std::get_if<Turn>(&record)) {
    out = {{"line", "turn"}, {"why", turn->why}, {"code", turn->code}, {"message", turn->message}};
  } else {
    const auto& finish = std::get<Finish>(record);
    out = {{"line", "finish"}, {"state", finish.state}, {"message", finish.message}};
    if (finish.output) out["output"] = *finish.output;
  }
  return json::write(out);
}

namespace {

base::Result<std::string> read_word(const json::Fields& fields, std::string_view member,
                                    std::initializer_list<std::string_view> words) {
  ASSIGN_OR_RETURN(auto word, fields.string(member));
  if (std::ranges::find(words, word) != words.end()) return word;
  return fail(ErrorKind::kCorrupt, fields.path_of(member) + ": is no word that is written there");
}

// A pause can be added to any time of a record.
base::Result<base::WallTime> read_time(const json::Fields& fields, std::string_view member) {
  constexpr std::int64_t kLast = 253'402'300'799'999'999;  // Of the year 9999.
  ASSIGN_OR_RETURN(auto since_1970, fields.int64(member));
  if (since_1970 >= 0 && since_1970 <= kLast) return base::WallTime(microseconds(since_1970));
  return fail(ErrorKind::kCorrupt, fields.path_of(member) + ": is no time of a run");
}

base::Result<Record> read_fields(const json::Fields& fields, std::size_t steps) {
  ASSIGN_OR_RETURN(auto line, fields.string("line"));
  if (line == "turn") {
    Turn turn;
    ASSIGN_OR_RETURN(turn.why, read_word(fields, "why", {"failed", "cancelled"}));
    ASSIGN_OR_RETURN(turn.code, fields.string("code"));
    ASSIGN_OR_RETURN(turn.message, fields.string("message"));
    return Record(std::move(turn));
  }
  if (line == "finish") {
    Finish finish;
    ASSIGN_OR_RETURN(finish.state, read_word(fields, "state", {"done", "failed", "cancelled"}));
    ASSIGN_OR_RETURN(finish.message, fields.string("message"));
    if (const auto* output = fields.find("output")) finish.output = *output;
    return Record(std::move(finish));
  }
  ASSIGN_OR_RETURN(auto step, fields.int64("step"));
  if (step < 0 || static_cast<std::size_t>(step) >= steps) {
    return fail(ErrorKind::kCorrupt, "step: there is none of that number");
  }
  ASSIGN_OR_RETURN(auto side, read_word(fields, "side", {"do", "undo"}));
  ASSIGN_OR_RETURN(auto at, read_time(fields, "at"));
  auto place = static_cast<std::size_t>(step);
  Side which = side == "undo" ? Side::kUndo : Side::kDo;
  if (line == "begin") {
    Begin begin{.step = place, .side = which, .request_id = {}};
    ASSIGN_OR_RETURN(begin.request_id, fields.string("rid"));
    ASSIGN_OR_RETURN(begin.known_until, read_time(fields, "until"));
    begin.at = at;
    return Record(std::move(begin));
  }
  if (line != "end") return fail(ErrorKind::kCorrupt, "line: is none of the four");
  End end{.step = place, .side = which, .status = {}, .message = {}, .result = {}};
  ASSIGN_OR_RETURN(end.status, fields.string("status"));
  ASSIGN_OR_RETURN(end.message, fields.string("message"));
  ASSIGN_OR_RETURN(const auto* result, fields.value("result"));
  if (!result->is_object()) return fail(ErrorKind::kCorrupt, "result: must be an object");
  end.result = result->get_object();
  end.at = at;
  return Record(std::move(end));
}

}  // namespace

base::Result<Record> read_record(std::string_view line, std::size_t steps) {
  // A message has a depth of 64; the record is around an answer.
  ASSIGN_OR_RETURN(auto value, json::parse(line, {.bytes = std::size_t{256} << 20, .depth = 80}));
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(value, "record"));
  return read_fields(fields, steps);
}

}  // namespace tool::workflow
