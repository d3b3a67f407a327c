#include "toolserver/workflow/definition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/json/fields.h"
#include "base/json/pointer.h"

namespace tool::workflow {
namespace {

namespace json = base::json;
using json::Fields;
using std::chrono::milliseconds;

constexpr std::size_t kConditions = 16;
constexpr std::int64_t kAttempts = 10;
constexpr std::int64_t kPause = 60'000;
constexpr std::int64_t kCallTime = 300'000;
constexpr std::size_t kText = 4'096;
// A workflow as a step of a workflow could call itself without end.
constexpr std::string_view kOwnSpace = "flow";

Fault shape(std::string message) { return refuse(Code::kShape, std::move(message)); }
Fault shape(const base::Error& error) { return shape(error.message()); }

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

template <std::size_t N>
Outcome<void> only(const json::Object& object, const std::string& path,
                   const std::array<std::string_view, N>& known) {
  for (const auto& member : object) {
    if (std::ranges::find(known, std::string_view(member.key())) == known.end()) {
      return shape(fmt::format("{}.{}: no such member", path, std::string_view(member.key())));
    }
  }
  return {};
}

Outcome<std::int64_t> number(const Fields& fields, std::string_view key, std::int64_t least,
                             std::int64_t most, std::int64_t otherwise) {
  auto found = fields.opt_int64(key);
  if (!found) return shape(found.error());
  std::int64_t value = found->value_or(otherwise);
  if (*found && (value < least || value > most)) {
    return shape(fmt::format("{}: must be {} to {}", fields.path_of(key), least, most));
  }
  return value;
}

Outcome<std::string> text(const Fields& fields, std::string_view key) {
  auto found = fields.opt_string(key);
  if (!found) return shape(found.error());
  if (found->value_or("").size() > kText) {
    return shape(fmt::format("{}: over {} bytes", fields.path_of(key), kText));
  }
  return found->value_or("");
}

Outcome<Retry> read_retry(const Fields& fields, const json::Object& object) {
  auto known = only(object, fields.path(), std::array<std::string_view, 2>{"attempts", "pause_ms"});
  if (!known) return std::move(known).error();
  auto attempts = number(fields, "attempts", 2, kAttempts, 2);
  if (!attempts) return std::move(attempts).error();
  auto pause = number(fields, "pause_ms", 0, kPause, 1'000);
  if (!pause) return std::move(pause).error();
  return Retry{static_cast<unsigned>(*attempts), milliseconds(*pause)};
}

// The members that a step and its undo have in common.
Outcome<ToolUse> read_use(const Fields& fields, const json::Object& object) {
  auto id = fields.string("tool");
  if (!id) return shape(id.error());
  auto tool = ToolId::parse(*id);
  if (!tool) return shape(fields.path_of("tool") + ": " + tool.error().message());
  if (tool->space() == kOwnSpace) {
    return shape(fields.path_of("tool") + ": a workflow cannot be a step of another");
  }
  ToolUse use{.tool = std::move(*tool)};
  if (const auto* args = object.if_contains("args")) {
    if (!args->is_object()) return shape(fields.path_of("args") + ": must be an object");
    if (is_hole(*args)) return shape(fields.path_of("args") + ": must have its own members");
    use.args = args->get_object();
  }
  if (const auto* retry = object.if_contains("retry")) {
    auto inner = Fields::of(*retry, fields.path_of("retry"));
    if (!inner) return shape(inner.error());
    auto read = read_retry(*inner, retry->get_object());
    if (!read) return std::move(read).error();
    use.retry = *read;
  }
  auto time = number(fields, "timeout_ms", 1, kCallTime, 0);
  if (!time) return std::move(time).error();
  if (*time > 0) use.time = milliseconds(*time);
  return use;
}

Outcome<Condition> read_condition(const json::Value& value, const std::string& path) {
  constexpr std::array<std::pair<std::string_view, Condition::Test>, 5> kTests{{
      {"equals", Condition::Test::kEquals},
      {"not_equals", Condition::Test::kNotEquals},
      {"less", Condition::Test::kLess},
      {"greater", Condition::Test::kGreater},
      {"exists", Condition::Test::kExists},
  }};
  auto fields = Fields::of(value, path);
  if (!fields) return shape(fields.error());
  auto from = fields->string("from");
  if (!from) return shape(from.error());
  auto reference = Reference::parse(*from);
  if (!reference) return shape(path + ".from: " + reference.error().message);
  const auto& object = value.get_object();
  Condition out{.from = std::move(*reference)};
  std::size_t tests = 0;
  for (const auto& [word, test] : kTests) {
    const auto* operand = object.if_contains(word);
    if (operand == nullptr) continue;
    ++tests;
    out.test = test;
    out.operand = *operand;
  }
  if (tests != 1 || object.size() != 2) {
    return shape(path + ": must have from and one of equals, not_equals, less, greater, exists");
  }
  bool orders = out.test == Condition::Test::kLess || out.test == Condition::Test::kGreater;
  if (orders && !out.operand.is_number()) return shape(path + ": less and greater take a number");
  if (out.test == Condition::Test::kExists && !out.operand.is_bool()) {
    return shape(path + ": exists takes true or false");
  }
  return out;
}

Outcome<std::vector<Condition>> read_conditions(const json::Value& value, const std::string& path) {
  std::vector<Condition> out;
  if (!value.is_array()) {
    auto one = read_condition(value, path);
    if (!one) return std::move(one).error();
    out.push_back(std::move(*one));
    return out;
  }
  const auto& list = value.get_array();
  if (list.empty() || list.size() > kConditions) {
    return shape(fmt::format("{}: must hold 1 to {}", path, kConditions));
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto one = read_condition(list[i], fmt::format("{}[{}]", path, i));
    if (!one) return std::move(one).error();
    out.push_back(std::move(*one));
  }
  return out;
}

Outcome<Step> read_step(const json::Value& value, const std::string& place) {
  auto fields = Fields::of(value, place);
  if (!fields) return shape(fields.error());
  auto name = fields->string("name");
  if (!name) return shape(name.error());
  if (!is_name(*name)) {
    return shape(place + ".name: must be 1 to 64 of a-z, 0-9, \"_\" and \"-\"");
  }
  const auto& object = value.get_object();
  std::string path = "steps." + *name;
  auto named = Fields::of(value, path);
  auto known = only(object, path,
                    std::array<std::string_view, 9>{"name", "tool", "args", "after", "if", "retry",
                                                    "timeout_ms", "may_fail", "undo"});
  if (!known) return std::move(known).error();
  auto use = read_use(*named, object);
  if (!use) return std::move(use).error();
  Step step{.name = std::move(*name), .use = std::move(*use)};
  if (const auto* condition = object.if_contains("if")) {
    auto read = read_conditions(*condition, path + ".if");
    if (!read) return std::move(read).error();
    step.conditions = std::move(*read);
  }
  auto may_fail = named->opt_boolean("may_fail");
  if (!may_fail) return shape(may_fail.error());
  step.may_fail = may_fail->value_or(false);
  if (const auto* undo = object.if_contains("undo")) {
    auto inner = Fields::of(*undo, path + ".undo");
    if (!inner) return shape(inner.error());
    auto mine = only(undo->get_object(), path + ".undo",
                     std::array<std::string_view, 4>{"tool", "args", "retry", "timeout_ms"});
    if (!mine) return std::move(mine).error();
    auto read = read_use(*inner, undo->get_object());
    if (!read) return std::move(read).error();
    step.undo = std::move(*read);
  }
  return step;
}

void insert(std::vector<std::size_t>& places, std::size_t place) {
  if (std::ranges::find(places, place) == places.end()) places.push_back(place);
}

// What stands below /steps/<name>: status, is_error, content, structured.
Outcome<std::optional<std::size_t>> place_of(const Workflow& workflow, const Reference& from) {
  if (from.step.empty()) {
    if (workflow.input) return std::optional<std::size_t>();
    return shape(from.pointer + ": this workflow has no input");
  }
  auto place = workflow.find(from.step);
  if (!place) return shape(from.pointer + ": there is no step " + from.step);
  constexpr std::array<std::string_view, 4> kMembers{"status", "is_error", "content", "structured"};
  if (!from.below.empty() && std::ranges::find(kMembers, from.below[0]) == kMembers.end()) {
    return shape(from.pointer +
                 ": leads to nothing; a step has status, is_error, content and structured");
  }
  return std::optional(*place);
}

// Looks at every hole of `value`, which stands at `path`; `found` gets the steps.
template <class Found>
Outcome<void> check_holes(const Workflow& workflow, const json::Value& value,
                          const std::string& path, Found found) {
  auto seen = each_hole(value, [&](const std::string& place, const Reference& from) {
    auto source = place_of(workflow, from);
    if (!source) return Outcome<void>(shape(place + ": " + source.error().message));
    if (*source) found(**source);
    return Outcome<void>();
  });
  if (!seen) seen.error().message.insert(0, path);
  return seen;
}

// Whom a step waits for: by name, by what it takes, by what its conditions look at.
Outcome<void> connect(const Workflow& workflow, Step& step, const json::Object& object) {
  std::string path = "steps." + step.name;
  json::Value value(object);
  auto fields = Fields::of(value, path);
  if (fields->has("after")) {
    auto names = fields->strings("after");
    if (!names) return shape(names.error());
    for (const auto& name : *names) {
      auto place = workflow.find(name);
      if (!place) return shape(path + ".after: there is no step " + name);
      insert(step.after, *place);
    }
  }
  auto taken = check_holes(workflow, json::Value(step.use.args), path + ".args", [&](auto place) {
    insert(step.after, place);
    insert(step.takes, place);
  });
  if (!taken) return taken;
  for (const auto& condition : step.conditions) {
    auto source = place_of(workflow, condition.from);
    if (!source) return shape(path + ".if: " + source.error().message);
    if (*source) insert(step.after, **source);
  }
  if (!step.undo) return {};
  return check_holes(workflow, json::Value(step.undo->args), path + ".undo.args", [](auto) {});
}

// Takes away steps whose predecessors are gone, until none is left or those that
// are left wait for each other.
Outcome<void> check_order(const Workflow& workflow) {
  std::vector<bool> gone(workflow.steps.size(), false);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t i = 0; i < gone.size(); ++i) {
      if (gone[i]) continue;
      if (!std::ranges::all_of(workflow.steps[i].after, [&](auto j) { return gone[j]; })) continue;
      gone[i] = moved = true;
    }
  }
  std::vector<std::string> left;
  for (std::size_t i = 0; i < gone.size(); ++i) {
    if (!gone[i]) left.push_back(workflow.steps[i].name);
  }
  if (left.empty()) return {};
  return shape(fmt::format("steps: these wait for each other: {}", fmt::join(left, ", ")));
}

Outcome<void> read_head(Workflow& out, const Fields& fields, const Bounds& bounds) {
  auto version = number(fields, "workflow", 1, 1, 0);
  if (!version) return std::move(version).error();
  if (*version == 0) return shape("workflow.workflow: must be 1");
  for (auto [key, to] : {std::pair{"title", &out.title}, {"description", &out.description}}) {
    auto read = text(fields, key);
    if (!read) return std::move(read).error();
    *to = std::move(*read);
  }
  auto time = number(fields, "time_ms", 1, bounds.time.count(), bounds.time.count());
  if (!time) return std::move(time).error();
  out.time = milliseconds(*time);
  auto most = static_cast<std::int64_t>(bounds.parallel);
  auto parallel = number(fields, "parallel", 1, most, most);
  if (!parallel) return std::move(parallel).error();
  out.parallel = static_cast<std::size_t>(*parallel);
  if (const auto* input = fields.find("input")) {
    if (!input->is_object()) return shape("workflow.input: must be a JSON Schema");
    out.input = input->get_object();
  }
  return {};
}

Outcome<void> read_steps(Workflow& out, const json::Object& source, const Bounds& bounds) {
  const auto* list = source.if_contains("steps");
  if (list == nullptr || !list->is_array() || list->get_array().empty()) {
    return shape("workflow.steps: must be a list of at least one step");
  }
  const auto& steps = list->get_array();
  if (steps.size() > bounds.steps) {
    return refuse(Code::kLimit, fmt::format("workflow.steps: over {} steps", bounds.steps));
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    auto step = read_step(steps[i], fmt::format("steps[{}]", i));
    if (!step) return std::move(step).error();
    if (out.find(step->name)) return shape("steps." + step->name + ": two steps of one name");
    out.steps.push_back(std::move(*step));
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    auto connected = connect(out, out.steps[i], steps[i].get_object());
    if (!connected) return connected;
  }
  return check_order(out);
}

}  // namespace

Outcome<bool> Condition::holds(const json::Value& document) const {
  const auto* found = json::find_at(document, from.pointer);
  if (test == Test::kExists) return (found != nullptr) == operand.get_bool();
  if (found == nullptr) return shape(from.pointer + " leads to nothing");
  if (test == Test::kEquals) return *found == operand;
  if (test == Test::kNotEquals) return *found != operand;
  if (!found->is_number()) return shape(from.pointer + " is no number");
  double value = found->to_number<double>(), bound = operand.to_number<double>();
  return test == Test::kLess ? value < bound : value > bound;
}

std::optional<std::size_t> Workflow::find(std::string_view name) const {
  auto found = std::ranges::find(steps, name, &Step::name);
  if (found == steps.end()) return std::nullopt;
  return static_cast<std::size_t>(found - steps.begin());
}

Outcome<Workflow> read_workflow(json::Object source, const Bounds& bounds) {
  Workflow out;
  out.source = std::move(source);
  json::Value value(out.source);
  auto fields = Fields::of(value, "workflow");
  auto known = only(out.source, "workflow",
                    std::array<std::string_view, 8>{"workflow", "title", "description", "input",
                                                    "steps", "output", "time_ms", "parallel"});
  if (!known) return std::move(known).error();
  if (auto head = read_head(out, *fields, bounds); !head) return std::move(head).error();
  if (auto steps = read_steps(out, out.source, bounds); !steps) return std::move(steps).error();
  if (const auto* output = out.source.if_contains("output")) {
    out.output = *output;
    auto seen = check_holes(out, *output, "workflow.output", [](auto) {});
    if (!seen) return std::move(seen).error();
  }
  return out;
}

}  // namespace tool::workflow
