#include "toolserver/transport/tool_operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "base/crypto/encoding.h"
#include "toolserver/federation/proof/forwarding.h"
#include "toolserver/federation/proof/link_proof.h"
#include "toolserver/transport/credential_check.h"

namespace tool::transport {
namespace {

namespace json = base::json;

using pipeline::ContentForm;

// Of what is streamed; a multiple of 3, so that base64 has no padding inside.
constexpr std::size_t kChunkBytes = 48 << 10;

struct Permission {
  session::Op op;
  std::string_view scope;  // Empty: what it is about decides, in the pipeline.
};
constexpr std::array kPermissions{
    Permission{session::Op::kCapList, "cap:list"},
    Permission{session::Op::kCapGet, ""},
    Permission{session::Op::kInvoke, ""},
    Permission{session::Op::kOutcome, ""},
    Permission{session::Op::kFlowRun, "flow:run"},
    Permission{session::Op::kFlowGet, "flow:run"},
    Permission{session::Op::kFlowCancel, "flow:run"},
    // Nodes alone; see for_node().
    Permission{session::Op::kForward, ""},
    Permission{session::Op::kForwardCaps, ""},
    Permission{session::Op::kAuditHead, "admin:audit"},
    Permission{session::Op::kSessionList, "admin:session"},
    Permission{session::Op::kSessionClose, "admin:session"},
    Permission{session::Op::kConsentList, "admin:consent"},
    Permission{session::Op::kConsentRevoke, "admin:consent"},
};

std::unexpected<Refusal> no(Fault fault, json::Object data = {}) {
  return std::unexpected(Refusal{std::move(fault), std::move(data)});
}

// Only a caller who may describe the tool is refused for its scope.
std::unexpected<Refusal> no_reply(Fault fault, const std::string& tool) {
  json::Object data;
  if (fault.code == Code::kScope) data["scope"] = "tool:invoke:" + tool;
  return no(std::move(fault), std::move(data));
}

// A node acts for callers, and each of their calls is proved; callers are not nodes.
Outcome<void> check_kind(session::Op op, const Principal& principal) {
  bool for_nodes = op == session::Op::kForward || op == session::Op::kForwardCaps;
  bool is_node = principal.method == Method::kNode;
  if (for_nodes && !is_node)
    return refuse(Code::kPolicy, "only nodes of the federation may ask that");
  if (is_node && !for_nodes) {
    return refuse(Code::kPolicy, "a node lists and calls tools by fed.caps and fed.forward alone");
  }
  return {};
}

const Permission* permission_of(session::Op op) {
  const auto* found = std::ranges::find(kPermissions, op, &Permission::op);
  return found == kPermissions.end() ? nullptr : found;
}

// The part without its bytes, which came before it.
json::Object streamed_part(const Content& content) {
  return {{"type", "data"},
          {"media_type", content.media_type},
          {"bytes", content.data.size()},
          {"streamed", true}};
}

base::Task<Outcome<void>> stream(std::size_t index, const Content& content, EventSink& events) {
  std::string_view rest = content.data;
  while (!rest.empty()) {
    auto piece = rest.substr(0, kChunkBytes);
    rest.remove_prefix(piece.size());
    auto sent =
        co_await events.chunk({{"index", index}, {"data", base::crypto::to_base64url(piece)}});
    if (!sent) co_return sent;
  }
  co_return Outcome<void>();
}

base::Task<Answer> write_answer(pipeline::PipelineReply reply, ContentForm form,
                                EventSink& events) {
  json::Array parts;
  auto& content = reply.result.content;
  for (std::size_t i = 0; i < content.size(); ++i) {
    if (form == ContentForm::kStreamed && content[i].data.size() > pipeline::kStreamedPart) {
      auto sent = co_await stream(i, content[i], events);
      if (!sent) co_return no(std::move(sent).error());
      parts.push_back(streamed_part(content[i]));
    } else {
      parts.push_back(write_content(std::move(content[i])));
    }
  }
  co_return write_reply(std::move(reply), std::move(parts));
}

Progress to_events(EventSink& events) {
  return [&events](double done, std::optional<double> total, std::string note) {
    json::Object payload{{"done", done}};
    if (total) payload["total"] = *total;
    if (!note.empty()) payload["note"] = note;
    events.progress(std::move(payload));
  };
}

}  // namespace

std::string_view scope_of(session::Op op) {
  const auto* permission = permission_of(op);
  return permission == nullptr ? std::string_view() : permission->scope;
}

base::Task<Answer> ToolOperations::run(base::RequestContext context,
                                       std::shared_ptr<const Caller> caller, session::Op op,
                                       Envelope request, EventSink& events) {
  const auto* permission = permission_of(op);
  if (permission == nullptr) co_return no(refuse(Code::kOp, "no such operation"));
  if (auto fits = check_kind(op, caller->principal); !fits) co_return no(std::move(fits).error());
  if (!permission->scope.empty() && !caller->principal.scopes.has(permission->scope)) {
    co_return no(refuse(Code::kScope, fmt::format("the scope {} is missing", permission->scope)),
                 {{"scope", permission->scope}});
  }
  switch (op) {
    case session::Op::kCapList: co_return list(*caller, request.payload);
    case session::Op::kCapGet: co_return get(*caller, request.payload);
    case session::Op::kOutcome: co_return outcome(*caller, request.payload);
    case session::Op::kForwardCaps:
      co_return co_await list_for_node(std::move(caller), std::move(request.payload));
    case session::Op::kForward:
      co_return co_await forward(std::move(caller), std::move(request), events);
    case session::Op::kFlowRun:
    case session::Op::kFlowGet:
    case session::Op::kFlowCancel:
      if (flows_ == nullptr) co_return no(refuse(Code::kOp, "no workflows are run here"));
      co_return co_await flows_->run(context, std::move(caller), op, std::move(request), events);
    case session::Op::kAuditHead: co_return audit_head();
    case session::Op::kSessionList: co_return list_sessions();
    case session::Op::kSessionClose: co_return close_sessions(*caller, request.payload);
    case session::Op::kConsentList: co_return list_consents();
    case session::Op::kConsentRevoke: co_return revoke_consents(*caller, request.payload);
    default: co_return co_await invoke(std::move(caller), std::move(request), events);
  }
}

Answer ToolOperations::list(const Caller& caller, const json::Object& payload) const {
  auto page = page_of(caller, payload);
  if (!page) return std::unexpected(std::move(page).error());
  return write_page(std::move(*page));
}

std::expected<ToolPage, Refusal> ToolOperations::page_of(const Caller& caller,
                                                         const json::Object& payload) const {
  auto request = read_list(payload);
  if (!request) return no(std::move(request).error());
  auto listing = pipeline_.capabilities_for(caller.principal, mode_);
  if (!request->etag.empty() && request->etag == listing->etag) {
    return ToolPage{.others = {{"etag", listing->etag}, {"unchanged", true}}, .is_unchanged = true};
  }
  ToolPage page{.others = {{"etag", listing->etag}}};
  std::size_t matching = 0;
  bool more = false;
  for (const auto& tool : listing->tools) {
    if (!tool->capability.id.text().starts_with(request->filter)) continue;
    if (matching++ < request->from) continue;
    more = page.tools.size() == request->limit;
    if (more) break;
    page.tools.push_back(tool);
  }
  if (more) page.others["next"] = std::to_string(request->from + request->limit);
  return page;
}

Answer ToolOperations::get(const Caller& caller, const json::Object& payload) const {
  auto tool = read_tool(payload);
  if (!tool) return no(std::move(tool).error());
  auto found = pipeline_.capability(caller.principal, mode_, *tool);
  if (!found) return no(std::move(found).error());
  return json::Object{{"capability", std::move(*found)}};
}

Answer ToolOperations::outcome(const Caller& caller, const json::Object& payload) const {
  auto id = read_id(payload);
  if (!id) return no(std::move(id).error());
  return write_outcome(pipeline_.outcome(caller.principal, *id));
}

Answer ToolOperations::audit_head() const {
  auto head = audit_.head();
  return json::Object{{"seq", head.seq}, {"hash", head.hash}};
}

Answer ToolOperations::list_sessions() const {
  json::Array all;
  for (auto& one : sessions_.list()) {
    json::Object session{{"session_id", one.id},
                         {"principal", {{"sub", one.subject}, {"iss", one.issuer}}},
                         {"method", name(one.method)},
                         {"peer", one.peer},
                         {"since", wire_time(one.since).time_since_epoch().count()}};
    if (!one.token_id.empty()) session["jti"] = one.token_id;
    all.push_back(std::move(session));
  }
  return json::Object{{"sessions", std::move(all)}};
}

Answer ToolOperations::close_sessions(const Caller& caller, const json::Object& payload) {
  auto chosen = read_session_choice(payload);
  if (!chosen) return no(std::move(chosen).error());
  // Recorded first: an end that nobody can trace to its author does not happen.
  auto recorded = audit_.event("session_close",
                               {{"by", caller.principal.subject}, {chosen->member, chosen->value}});
  if (!recorded) return no(refuse(Code::kBusy, "the end of sessions cannot be recorded just now"));
  auto count = sessions_.end([&](const OpenSession& one) {
    return (chosen->member == "session_id" ? one.id : one.subject) == chosen->value;
  });
  return json::Object{{"closed", count}};
}

Answer ToolOperations::list_consents() const {
  json::Array all;
  for (auto& one : agreed_.list(clock_.now())) {
    json::Object approval{
        {"id", one.id},     {"principal", {{"sub", one.subject}, {"iss", one.issuer}}},
        {"tool", one.tool}, {"scope", pipeline::name(one.scope)},
        {"by", one.by},     {"until", wire_time(one.until).time_since_epoch().count()}};
    if (!one.session_id.empty()) approval["session_id"] = one.session_id;
    all.push_back(std::move(approval));
  }
  return json::Object{{"consents", std::move(all)}};
}

Answer ToolOperations::revoke_consents(const Caller& caller, const json::Object& payload) {
  auto chosen = read_consent_choice(payload);
  if (!chosen) return no(std::move(chosen).error());
  json::Object details{{"by", caller.principal.subject}};
  if (chosen->id > 0) {
    details["id"] = chosen->id;
  } else {
    details["sub"] = chosen->subject;
  }
  if (!audit_.event("consent_revoke", std::move(details))) {
    return no(refuse(Code::kBusy, "it cannot be recorded just now"));
  }
  auto count = agreed_.revoke([&](const ConsentMemory::Approval& one) {
    return chosen->id > 0 ? std::cmp_equal(one.id, chosen->id) : one.subject == chosen->subject;
  });
  return json::Object{{"revoked", count}};
}

// What both ways to call a tool have in common.
pipeline::PipelineCall ToolOperations::call_of(const Caller& caller, Envelope& request) const {
  pipeline::PipelineCall call;
  random_.fill(std::as_writable_bytes(std::span(&call.log_id, 1)));
  call.session_id = caller.session_id;
  call.peer = caller.peer;
  call.mode = mode_;
  if (request.meta) {
    call.deadline = request.meta->deadline;
    call.traceparent = std::move(request.meta->traceparent);
  }
  return call;
}

// With the proof that this node is the one that was meant. Who has the list already may
// wait for another one.
base::Task<Answer> ToolOperations::list_for_node(std::shared_ptr<const Caller> caller,
                                                 json::Object payload) const {
  auto wait = read_wait(payload);
  if (!wait) co_return no(std::move(wait).error());
  const std::string& node = caller->principal.subject;
  if (wait->count() == 0 && federation_.came) federation_.came(node);
  auto until = std::chrono::steady_clock::now() + *wait;
  std::expected<ToolPage, Refusal> listed;
  while (true) {
    auto version = pipeline_.tools_version();
    listed = page_of(*caller, payload);
    if (!listed) co_return std::unexpected(std::move(listed).error());
    auto state = co_await boost::asio::this_coro::cancellation_state;
    bool is_over = state.cancelled() != boost::asio::cancellation_type::none ||
                   std::chrono::steady_clock::now() >= until ||
                   (federation_.is_draining && federation_.is_draining());
    if (is_over || !listed->is_unchanged) break;
    co_await pipeline_.await_tools(version, until);
  }
  auto proof =
      federation::peer_proof(*federation_.keys, node, caller->session_id, clock_.now(), random_);
  if (!proof) co_return no(refuse(Code::kInternal, "the proof of this node cannot be made"));
  listed->others["proof"] = std::move(*proof);
  co_return write_page(std::move(*listed));
}

// The caller is whom the proofs name, and may do here what they ask for, as far
// as the node that asks was granted it: authorised anew, by this node's rules.
base::Task<Answer> ToolOperations::forward(std::shared_ptr<const Caller> caller, Envelope request,
                                           EventSink& events) {
  auto asked = read_forward(std::move(request.payload));
  if (!asked) co_return no(std::move(asked).error());
  const Principal& node = caller->principal;
  federation::Asked step{node.subject, caller->session_id,       asked->tool,
                         &asked->args, std::move(asked->proofs), asked->dry_run};
  auto accepted = federation::accept(*federation_.keys, *federation_.memory, std::move(step),
                                     federation_.max_hops, clock_.now());
  if (!accepted) {
    audit_.note(
        {"forward_refused", name(accepted.error().code), node.subject, node.issuer, caller->peer},
        {{"code", name(accepted.error().code)},
         {"peer", caller->peer},
         {"sid", caller->session_id},
         {"principal", {{"iss", node.issuer}, {"sub", node.subject}}}});
    co_return no(std::move(accepted).error());
  }
  if (federation_.is_denied && federation_.is_denied(accepted->subject)) {
    co_return no(refuse(Code::kPolicy, "the caller is on this node's deny list"));
  }
  auto principal = std::make_shared<Principal>();
  principal->subject = accepted->subject;
  principal->issuer = std::string(kNodeIssuer) + accepted->way.front() + ':' + accepted->issuer;
  principal->method = Method::kNode;
  principal->expires_at = node.expires_at;
  if (auto id = ToolId::parse(asked->tool); id && node.scopes.allows_invoke(*id)) {
    if (auto one = Scopes::parse("tool:invoke:" + asked->tool)) principal->scopes = std::move(*one);
    auto details = Details::parse_sets(*id, base::json::Value(accepted->details));
    if (!details) co_return no(to_fault(std::move(details).error()));
    principal->details = details->with(node.details);
  }
  pipeline::PipelineCall call = call_of(*caller, request);
  call.request_id = accepted->request;
  call.principal = std::move(principal);
  call.hop = static_cast<std::uint32_t>(accepted->way.size());
  call.forwarded = std::make_shared<const Forwarded>(std::move(*accepted));
  call.idem = std::move(asked->idem);
  call.dry_run = asked->dry_run;
  call.form = asked->form;
  std::string tool = asked->tool;
  call.tool = std::move(asked->tool);
  call.args = std::move(asked->args);
  auto reply = co_await pipeline_.run(std::move(call), to_events(events));
  if (!reply) co_return no_reply(std::move(reply).error(), tool);
  if (reply->result.input_needed) {
    co_return no(
        refuse(Code::kConsent, "the tool has to ask the caller, who cannot be asked here"));
  }
  co_return co_await write_answer(std::move(*reply), asked->form, events);
}

base::Task<Answer> ToolOperations::invoke(std::shared_ptr<const Caller> caller, Envelope request,
                                          EventSink& events) {
  auto asked = read_invoke(std::move(request.payload));
  if (!asked) co_return no(std::move(asked).error());
  pipeline::PipelineCall call = call_of(*caller, request);
  call.request_id = request.id.text();
  call.principal = {caller, &caller->principal};  // As long as the caller.
  std::string tool = asked->tool;
  call.tool = std::move(asked->tool);
  call.args = std::move(asked->args);
  call.dry_run = asked->dry_run;
  call.idem.key = std::move(asked->idem);
  call.form = asked->form;
  auto reply = co_await pipeline_.run(std::move(call), to_events(events));
  if (!reply) co_return no_reply(std::move(reply).error(), tool);
  if (reply->result.input_needed) {
    co_return no(
        refuse(Code::kConsent, "the tool has to ask the caller, who cannot be asked here"));
  }
  co_return co_await write_answer(std::move(*reply), asked->form, events);
}

}  // namespace tool::transport
