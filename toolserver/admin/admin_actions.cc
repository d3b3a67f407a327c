#include "toolserver/admin/admin_actions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <utility>

#include "base/json/fields.h"
#include "toolserver/audit/search.h"
#include "toolserver/pipeline/consent_question.h"

namespace tool::admin {
namespace {

namespace json = base::json;
using base::http::Method;
using base::json::Fields;
using pins::PinFile;
using pins::PinStore;

constexpr std::size_t kWordBytes = 256;    // Of what is looked for.
constexpr std::size_t kDifferences = 200;  // Lines that are shown of one tool.
constexpr std::size_t kLineBytes = 2'000;  // Of one of them.
constexpr std::size_t kAuditLines = 50;    // Of one page.

boost::json::string text(std::string_view value) { return boost::json::string(value); }

Fault unavailable(const base::Error& error) {
  Fault fault = refuse(Code::kBusy, "a file cannot be read just now");
  fault.detail = error.message() + " " + error.detail();
  return fault;
}

// Before it is done: what nobody can trace to its author does not happen.
Outcome<void> record(const Asked& asked, std::string_view what, json::Object details) {
  details["by"] = text(asked.caller->subject);
  if (asked.parts->audit.event(what, std::move(details))) return {};
  return refuse(Code::kBusy, "it cannot be recorded just now");
}

Outcome<std::string> word(const Asked& asked, std::string_view key) {
  json::Value body(asked.body);
  auto fields = Fields::of(body, "");
  auto found = fields ? fields->string(key) : base::Result<std::string>(std::move(fields).error());
  if (!found) return to_fault(std::move(found).error());
  if (found->empty() || found->size() > kWordBytes) {
    return refuse(Code::kShape, fmt::format("{}: must have 1 to {} bytes", key, kWordBytes));
  }
  return std::move(*found);
}

// Tools and pins.

std::string_view origin_of(OriginKind kind) {
  switch (kind) {
    case OriginKind::kLocal: return "local";
    case OriginKind::kBridge: return "bridge";
    case OriginKind::kPeer: return "peer";
  }
  return "";
}

std::string_view consent_of(ConsentRule rule) {
  switch (rule) {
    case ConsentRule::kNever: return "never";
    case ConsentRule::kFirst: return "first";
    case ConsentRule::kAlways: return "always";
  }
  return "";
}

json::Object tool_of(const pipeline::ToolEntry& entry) {
  const Capability& capability = entry.capability;
  return {{"id", text(capability.id.text())},
          {"title", text(pipeline::shown_text(capability.title, kWordBytes))},
          {"description", text(pipeline::shown_text(capability.description, kLineBytes))},
          {"origin", text(origin_of(capability.origin))},
          {"server", text(capability.origin_name)},
          {"consent", text(consent_of(capability.consent))},
          {"state", text(pipeline::name(entry.state))}};
}

json::Object pin_of(const PinFile& file, const std::string& id) {
  static const json::Object kNothing;
  auto seen = file.seen.find(id);
  auto approved = file.approved.find(id);
  json::Array lines;
  auto differences =
      pins::differences(approved == file.approved.end() ? kNothing : approved->second.record,
                        seen == file.seen.end() ? kNothing : seen->second.record);
  for (const auto& line : differences) {
    if (lines.size() == kDifferences) break;
    lines.emplace_back(text(pipeline::shown_text(line, kLineBytes)));
  }
  json::Object out{{"tool", text(id)},
                   {"state", text(pins::name(status_of(file, id)))},
                   {"left_out", differences.size() - lines.size()},
                   {"differences", std::move(lines)}};
  if (seen != file.seen.end()) {
    out["pin"] = seen->second.pin;
    if (!seen->second.note.empty()) out["reason"] = text(seen->second.note);
  }
  return out;
}

// On a thread that may block.
base::Result<json::Array> read_pins(const std::vector<PinStore>& stores) {
  json::Array out;
  for (const auto& store : stores) {
    ASSIGN_OR_RETURN(PinFile file, store.read());
    std::vector<std::string> ids;
    for (const auto& [id, one] : file.seen) ids.push_back(id);
    for (const auto& [id, one] : file.approved) {
      if (!file.seen.contains(id)) ids.push_back(id);
    }
    for (const auto& id : ids) out.emplace_back(pin_of(file, id));
  }
  return out;
}

base::Task<Answer> list_tools(Asked asked) {
  json::Array tools;
  for (const auto& entry : asked.parts->registry.all()) tools.emplace_back(tool_of(*entry));
  auto parts = asked.parts;
  auto pins = co_await asked.parts->pool.run([parts] { return read_pins(parts->pins); });
  if (!pins) co_return unavailable(pins.error());
  co_return json::Object{{"tools", std::move(tools)}, {"pins", std::move(*pins)}};
}

Outcome<PinStore> store_of(const Asked& asked, const std::string& tool) {
  for (const auto& store : asked.parts->pins) {
    if (tool.starts_with(store.path().stem().native() + ".")) return store;
  }
  return refuse(Code::kTool, "no bridge has such a tool");
}

Answer pin_answer(const base::Status& done) {
  if (done) return json::Object();
  switch (done.error().kind()) {
    case base::ErrorKind::kNotFound: return refuse(Code::kTool, done.error().message());
    case base::ErrorKind::kConflict: return refuse(Code::kPin, done.error().message());
    case base::ErrorKind::kUnsupported:
    case base::ErrorKind::kTooLarge: return refuse(Code::kPolicy, done.error().message());
    default: return unavailable(done.error());
  }
}

base::Task<Answer> approve_pin(Asked asked) {
  CO_ASSIGN_OR_RETURN(auto tool, word(asked, "tool"));
  // What was looked at, or the approval would be of something else.
  CO_ASSIGN_OR_RETURN(auto pin, word(asked, "pin"));
  CO_ASSIGN_OR_RETURN(auto store, store_of(asked, tool));
  CO_RETURN_IF_ERROR(record(asked, "pin_approve", {{"tool", text(tool)}, {"pin", text(pin)}}));
  auto done = co_await asked.parts->pool.run(
      [store, tool, pin]() mutable { return store.approve(tool, pin); });
  co_return pin_answer(done);
}

base::Task<Answer> revoke_pin(Asked asked) {
  CO_ASSIGN_OR_RETURN(auto tool, word(asked, "tool"));
  CO_ASSIGN_OR_RETURN(auto store, store_of(asked, tool));
  CO_RETURN_IF_ERROR(record(asked, "pin_revoke", {{"tool", text(tool)}}));
  auto done =
      co_await asked.parts->pool.run([store, tool]() mutable { return store.revoke(tool); });
  co_return pin_answer(done);
}

// Consents.

std::int64_t milliseconds(base::WallTime time) {
  return std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch().count();
}

base::Task<Answer> list_consents(Asked asked) {
  json::Array out;
  for (const auto& [id, question] : asked.parts->desk.open()) {
    out.emplace_back(json::Object{{"id", id},
                                  {"rid", text(question.request_id)},
                                  {"principal", text(question.principal)},
                                  {"tool", text(question.tool)},
                                  {"summary", text(question.summary)},
                                  {"arguments", text(question.args_preview)},
                                  {"truncated", question.truncated},
                                  {"bytes", question.bytes},
                                  {"risk", text(question.risk)},
                                  {"session_scope", question.session_scope},
                                  {"expires", milliseconds(question.expires)}});
  }
  json::Array agreed;
  for (const auto& one : asked.parts->agreed.list(asked.parts->clock.now())) {
    agreed.emplace_back(json::Object{{"id", one.id},
                                     {"principal", text(one.subject)},
                                     {"tool", text(one.tool)},
                                     {"scope", text(pipeline::name(one.scope))},
                                     {"by", text(one.by)},
                                     {"until", milliseconds(one.until)}});
  }
  co_return json::Object{{"consents", std::move(out)}, {"agreed", std::move(agreed)}};
}

Outcome<std::uint64_t> id_in(const Asked& asked) {
  const auto* id = asked.body.if_contains("id");
  if (id == nullptr || !id->is_int64() || id->get_int64() < 1) {
    return refuse(Code::kShape, "id: must be a number of the list");
  }
  return static_cast<std::uint64_t>(id->get_int64());
}

base::Task<Answer> revoke_consent(Asked asked) {
  CO_ASSIGN_OR_RETURN(std::uint64_t id, id_in(asked));
  CO_RETURN_IF_ERROR(record(asked, "consent_revoke", {{"id", id}}));
  auto count =
      asked.parts->agreed.revoke([&](const ConsentMemory::Approval& one) { return one.id == id; });
  co_return json::Object{{"revoked", count}};
}

Outcome<pipeline::ConsentAnswer> answer_in(const Asked& asked) {
  auto decision = word(asked, "decision");
  if (!decision) return std::move(decision).error();
  pipeline::ConsentAnswer answer;
  answer.by = asked.caller->subject;
  if (*decision == "deny") return answer;
  if (*decision != "approve") return refuse(Code::kShape, "decision: must be approve or deny");
  answer.decision = pipeline::ConsentDecision::kApprove;
  auto scope = word(asked, "scope");
  if (!scope) return std::move(scope).error();
  if (*scope == "once") return answer;
  if (*scope != "session" && *scope != "args_hash") {
    return refuse(Code::kShape, "scope: must be once, session or args_hash");
  }
  answer.scope =
      *scope == "session" ? pipeline::ConsentScope::kSession : pipeline::ConsentScope::kArgsHash;
  return answer;
}

// The record of the call says who agreed and for what.
base::Task<Answer> decide_consent(Asked asked) {
  CO_ASSIGN_OR_RETURN(auto answer, answer_in(asked));
  CO_ASSIGN_OR_RETURN(std::uint64_t number, id_in(asked));
  auto open = asked.parts->desk.open();
  auto found = std::ranges::find(open, number, &pipeline::ConsentDesk::Open::id);
  if (found != open.end() && found->question.principal == asked.caller->subject) {
    co_return refuse(Code::kPolicy, "nobody agrees to a call of his own");
  }
  if (!asked.parts->desk.decide(number, std::move(answer))) {
    co_return refuse(Code::kConsent, "the question does not wait any more");
  }
  co_return json::Object();
}

// Sessions.

base::Task<Answer> list_sessions(Asked asked) {
  json::Array out;
  for (const auto& one : asked.parts->sessions.list()) {
    out.emplace_back(json::Object{{"session_id", text(one.id)},
                                  {"sub", text(one.subject)},
                                  {"iss", text(one.issuer)},
                                  {"method", text(name(one.method))},
                                  {"peer", text(one.peer)},
                                  {"since", milliseconds(one.since)}});
  }
  co_return json::Object{{"sessions", std::move(out)}};
}

base::Task<Answer> end_session(Asked asked) {
  CO_ASSIGN_OR_RETURN(auto id, word(asked, "session_id"));
  CO_RETURN_IF_ERROR(record(asked, "session_close", {{"session_id", text(id)}}));
  auto count =
      asked.parts->sessions.end([&](const transport::OpenSession& one) { return one.id == id; });
  co_return json::Object{{"closed", count}};
}

// The trail.

base::Task<Answer> search_audit(Asked asked) {
  audit::Wanted wanted;
  wanted.most = kAuditLines;
  for (auto [member, key] : {std::pair{&wanted.kind, "kind"},
                             {&wanted.tool, "tool"},
                             {&wanted.principal, "principal"},
                             {&wanted.text, "text"}}) {
    *member = asked.request.query(key).value_or("");
    if (member->size() > kWordBytes)
      co_return refuse(Code::kShape, fmt::format("{}: too long", key));
  }
  std::string before = asked.request.query("before").value_or("0");
  auto [end, error] = std::from_chars(before.data(), before.data() + before.size(), wanted.before);
  if (error != std::errc() || end != before.data() + before.size()) {
    co_return refuse(Code::kShape, "before: must be the number of a line");
  }
  auto parts = asked.parts;
  auto found = co_await asked.parts->pool.run(
      [parts, wanted] { return audit::search(parts->trail, wanted); });
  if (!found) co_return unavailable(found.error());
  json::Array lines;
  for (const auto& line : found->lines) {
    if (auto value = json::parse(line)) lines.push_back(std::move(*value));
  }
  co_return json::Object{{"lines", std::move(lines)}, {"next", found->next}};
}

}  // namespace

std::span<const Action> actions() {
  static constexpr std::array kActions{
      Action{Method::kGet, "tools", "admin:tools", list_tools},
      Action{Method::kPost, "pins/approve", "admin:tools", approve_pin},
      Action{Method::kPost, "pins/revoke", "admin:tools", revoke_pin},
      Action{Method::kGet, "consents", "admin:consent", list_consents},
      Action{Method::kPost, "consents/decide", "admin:consent", decide_consent},
      Action{Method::kPost, "consents/revoke", "admin:consent", revoke_consent},
      Action{Method::kGet, "sessions", "admin:session", list_sessions},
      Action{Method::kPost, "sessions/end", "admin:session", end_session},
      Action{Method::kGet, "audit", "admin:audit", search_audit},
  };
  return kActions;
}

}  // namespace tool::admin
