// The calls that may ask the client before they answer. Since 2026-07-28 each
// round is a request of its own, and the client carries a sealed state between
// them; before that the client is asked while its request waits, and the rounds
// happen here. What a tool sees is the same.

#include "toolserver/mcp_ingress/call_rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/json/canonical.h"
#include "toolserver/mcp_ingress/dispatcher.h"
#include "toolserver/mcp_ingress/params.h"
#include "toolserver/model/digest.h"
#include "toolserver/pipeline/rate.h"

namespace tool::mcp_ingress {
namespace {

namespace json = base::json;
namespace method = mcp::method;

constexpr int kMostRounds = 8;
constexpr int kSilent = 8;  // Above every severity.

struct Ability {
  std::string_view method;
  std::string_view capability;
};
constexpr std::array kAbilities{Ability{method::kElicit, "elicitation"},
                                Ability{method::kSample, "sampling"},
                                Ability{method::kListRoots, "roots"}};

std::string_view method_of(const json::Value& request) {
  const auto* fields = request.if_object();
  const auto* name = fields == nullptr ? nullptr : fields->if_contains("method");
  return name != nullptr && name->is_string() ? std::string_view(name->get_string()) : "";
}

// What of `requests` the client said nothing of, as MCP writes capabilities.
// Nothing of a method that is no question leaves the house.
std::expected<json::Object, Fault> missing(const json::Object& requests,
                                           const json::Object& client) {
  json::Object out;
  for (const auto& one : requests) {
    const auto* ability = std::ranges::find(kAbilities, method_of(one.value()), &Ability::method);
    if (ability == kAbilities.end()) {
      return std::unexpected(refuse(Code::kUpstream, "the tool asks what no client is asked"));
    }
    if (!client.contains(ability->capability)) out[ability->capability] = json::Object();
  }
  return out;
}

// A refusal that a model can read and do something about.
ToolResult error_result(const Fault& fault) {
  ToolResult result;
  result.content.push_back({"text/plain", fmt::format("{}: {}", name(fault.code), fault.message)});
  result.is_error = true;
  return result;
}

Progress progress_to(const Call& call) {
  if (!call.meta.progress_token) return {};
  return [side = call.side, token = mcp::to_json(*call.meta.progress_token),
          last = std::optional<double>()](double done, std::optional<double> total,
                                          std::string note) mutable {
    if (last && done <= *last) return;  // It must increase.
    last = done;
    json::Object params{{"progressToken", token}, {"progress", done}};
    if (total) params["total"] = *total;
    if (!note.empty()) params["message"] = std::move(note);
    side->tell({std::string(method::kProgress), std::move(params)});
  };
}

std::shared_ptr<const Note> note_to(const Call& call) {
  auto asked = mcp::severity(call.meta.log_level);
  int floor = kSilent;
  if (asked) {
    floor = *asked;
  } else if (!mcp::is_stateless(call.revision)) {
    floor = call.session ? call.session->log_floor() : ClientSession::kEverything;
  }
  if (floor == kSilent) return nullptr;
  return std::make_shared<const Note>(
      [side = call.side, floor](const std::string& level, json::Value data) {
        if (mcp::severity(level).value_or(kSilent) < floor) return;
        json::Object params{{"level", level}, {"data", std::move(data)}};
        side->tell({std::string(method::kLog), std::move(params)});
      });
}

}  // namespace

std::expected<Round, Reply> Dispatcher::open_round(const Call& call, std::string name,
                                                   std::string arguments) const {
  Round round{
      {pipeline::key_of(*call.caller), call.request.method, std::move(name), std::move(arguments)},
      {},
      {}};
  bool stateless = mcp::is_stateless(call.revision);
  bool can_ask = stateless || call.side->can_be_asked();
  if (options_.elicit_consent && can_ask && call.client.contains("elicitation")) {
    round.consent = std::make_shared<ElicitedConsent>(call.side);
  }
  // Clients of other revisions have no way to say it.
  if (!stateless) return round;
  auto inputs = inputs_of(call.request.params);
  if (!inputs) return std::unexpected(std::move(inputs).error());
  if (!*inputs) return round;
  round.inputs = std::move(**inputs);
  std::string sealed = std::exchange(round.inputs->state, {});
  json::Value consent;
  if (auto* found = round.inputs->responses.if_contains(kConsentRequest)) {
    consent = std::move(*found);
    round.inputs->responses.erase(kConsentRequest);
  }
  if (sealed.empty()) return round;
  auto state = states_.open(round.owner, sealed);
  if (!state) return std::unexpected(fault_reply(state.error()));
  round.inputs->state = std::move(state->tool_state);
  if (round.consent && state->consent == CarriedState::Consent::kAsked) {
    round.consent->set_response(std::move(consent));
  }
  if (round.consent && state->consent == CarriedState::Consent::kGiven) round.consent->set_given();
  // Of a call that has only been asked about, the tool has seen nothing.
  if (state->consent == CarriedState::Consent::kAsked) round.inputs.reset();
  return round;
}

// The questions of a round, for the client to carry.
Reply Dispatcher::carry_on(const Call& call, const Round& round, const InputNeeded& needed) const {
  auto lacking = missing(needed.requests, call.client);
  if (!lacking) return fault_reply(lacking.error());
  if (!lacking->empty()) {
    return error_reply(400, mcp::code::kMissingCapability, "the client cannot be asked this",
                       json::Value(json::Object{{"requiredCapabilities", std::move(*lacking)}}));
  }
  CarriedState state{needed.state, CarriedState::Consent::kNone};
  if (round.consent && round.consent->question()) state.consent = CarriedState::Consent::kAsked;
  if (round.consent && round.consent->given()) state.consent = CarriedState::Consent::kGiven;
  auto sealed = states_.seal(round.owner, state);
  if (!sealed) return fault_reply(sealed.error());
  ToolResult result;
  result.input_needed = needed;
  Reply reply;
  reply.body = mcp::write_result(result, call.revision, *sealed);
  return reply;
}

// Errors: a reply, with the member and the rule.
std::expected<std::shared_ptr<ToolWork>, Reply> Dispatcher::tool_work(const Call& call) const {
  auto name = text_param(call.request.params, "name");
  if (!name) return std::unexpected(std::move(name).error());
  auto arguments = object_param(call.request.params, "arguments");
  if (!arguments) return std::unexpected(std::move(arguments).error());
  auto text = json::canonical(*arguments);
  if (!text) {
    return std::unexpected(
        error_reply(200, mcp::code::kInvalidParams, "params.arguments: " + text.error().message()));
  }
  auto round = open_round(call, *name, digest(*text));
  if (!round) return std::unexpected(std::move(round).error());
  return std::make_shared<ToolWork>(ToolWork{std::move(*name),
                                             std::move(*arguments),
                                             std::move(*round),
                                             progress_to(call),
                                             note_to(call),
                                             {}});
}

base::Task<Reply> Dispatcher::call_tool(std::shared_ptr<const Call> call) const {
  if (auto begun = co_await call_as_task(call)) co_return std::move(*begun);
  auto work = tool_work(*call);
  if (!work) co_return std::move(work).error();
  co_return co_await play(call, std::move(*work));
}

// A refusal as the caller gets it.
base::Task<Reply> Dispatcher::refusal_of(std::shared_ptr<const Call> call, Fault fault,
                                         std::shared_ptr<const ToolWork> work) const {
  Reply reply;
  bool readable =
      fault.code == Code::kPolicy || fault.code == Code::kConsent || fault.code == Code::kShape;
  if (work->offer != Offer::kTool) {
    bool is_missing = work->offer == Offer::kResource && fault.code == Code::kTool;
    co_return is_missing ? no_resource(*call, work->name) : fault_reply(fault);
  }
  if (readable) {
    reply.body = mcp::write_result(error_result(fault), call->revision);
    co_return reply;
  }
  reply = fault_reply(fault);
  if (fault.code == Code::kScope) {
    reply.wanted_scope = co_await tools_.scope_of(call, work->name, work->arguments);
  }
  co_return reply;
}

// Until there is an answer, or a question for the client to carry.
base::Task<Reply> Dispatcher::play(std::shared_ptr<const Call> call,
                                   std::shared_ptr<ToolWork> work) const {
  Round& round = work->round;
  for (int i = 0; i < kMostRounds; ++i) {
    ToolCall tool{work->name,    work->arguments, round.inputs, work->progress, work->note,
                  round.consent, work->call_id,   work->time,   work->offer};
    auto result = co_await tools_.call(call, std::move(tool));
    if (!result && round.consent && round.consent->question()) {
      InputNeeded consent;
      consent.requests[kConsentRequest] = *round.consent->question();
      co_return carry_on(*call, round, consent);
    }
    if (!result) co_return co_await refusal_of(call, std::move(result).error(), work);
    Reply reply;
    if (work->offer != Offer::kTool) co_return offer_reply(*call, *work, std::move(*result));
    if (!result->input_needed) {
      reply.body = mcp::write_result(*result, call->revision);
      co_return reply;
    }
    bool can_ask = call->side->can_be_asked();
    if (mcp::is_stateless(call->revision) && !can_ask) {
      co_return carry_on(*call, round, *result->input_needed);
    }
    auto lacking = missing(result->input_needed->requests, call->client);
    if (!can_ask || !lacking || !lacking->empty()) {
      Fault fault = refuse(Code::kConsent, "the tool has to ask, and the client cannot be asked");
      reply.body = mcp::write_result(error_result(fault), call->revision);
      co_return reply;
    }
    auto responses = co_await call->side->ask(result->input_needed->requests);
    if (!responses) co_return fault_reply(responses.error());
    round.inputs = Inputs{std::move(*responses), std::move(result->input_needed->state)};
  }
  co_return fault_reply(refuse(Code::kLimit, "the tool asked too often"));
}

base::Task<Reply> Dispatcher::get_prompt(std::shared_ptr<const Call> call) const {
  if (is_bridged(*call)) co_return co_await play_bridged(call);
  auto request = prompt_request_of(call->request.params);
  if (!request) co_return std::move(request).error();
  auto arguments = object_param(call->request.params, "arguments");
  auto text = json::canonical(*arguments);
  if (!text) co_return error_reply(200, mcp::code::kInvalidParams, text.error().message());
  auto round = open_round(*call, request->name, digest(*text));
  if (!round) co_return std::move(round).error();
  auto recorded = tools_.record(*call, "mcp_prompt_get", request->name);
  if (!recorded) co_return fault_reply(recorded.error());
  if (!providers_.prompts) co_return fault_reply(refuse(Code::kTool, "no such prompt"));
  request->client = call->client;
  Reply reply;
  for (int i = 0; i < kMostRounds; ++i) {
    request->inputs = round->inputs;
    auto found = co_await providers_.prompts->get(base::RequestContext{}, call->caller, *request);
    if (!found) co_return fault_reply(found.error());
    if (!found->input_needed) {
      reply.body = write_prompt_text(*found);
      co_return reply;
    }
    if (mcp::is_stateless(call->revision)) co_return carry_on(*call, *round, *found->input_needed);
    auto lacking = missing(found->input_needed->requests, call->client);
    if (!lacking || !lacking->empty() || !call->side->can_be_asked()) {
      co_return fault_reply(
          refuse(Code::kConsent, "the prompt has to ask, and the client cannot be asked"));
    }
    auto responses = co_await call->side->ask(found->input_needed->requests);
    if (!responses) co_return fault_reply(responses.error());
    round->inputs = Inputs{std::move(*responses), std::move(found->input_needed->state)};
  }
  co_return fault_reply(refuse(Code::kLimit, "the prompt asked too often"));
}

}  // namespace tool::mcp_ingress
