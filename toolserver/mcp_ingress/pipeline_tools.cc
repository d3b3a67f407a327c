#include "toolserver/mcp_ingress/pipeline_tools.h"

#include <algorithm>
#include <span>
#include <utility>

#include "toolserver/mcp/resource_uri.h"
#include "toolserver/mcp/revision.h"
#include "toolserver/mcp/tool_values.h"
#include "toolserver/model/ulid.h"
#include "toolserver/workflow/flow_tools.h"

namespace tool::mcp_ingress {
namespace {

namespace json = base::json;

// Of a call without a session: what bounds the calls of a session at once bounds
// those of a principal.
std::string session_of(const Call& call) {
  if (call.session && !call.session->facts().id.empty()) return "mcp:" + call.session->facts().id;
  return "mcp:" + call.caller->subject;
}

// Source: W3C Trace Context, section 3.2. One that is none is left out.
std::string checked_traceparent(const std::string& text) {
  constexpr std::string_view kForm = "00-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx";
  if (text.size() != kForm.size()) return {};
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (kForm[i] == 'x' ? !hex : text[i] != kForm[i]) return {};
  }
  return text;
}

std::string shown(const ToolId& id, const std::string& bare) {
  return !bare.empty() && id.space() == bare ? std::string(id.name()) : id.text();
}

// Whether the list of a server's resources, as it is shown, has this URI.
bool lists(const json::Object& listed, std::string_view uri) {
  const auto* resources = listed.if_contains("resources");
  return resources != nullptr &&
         std::ranges::any_of(resources->get_array(), [&](const json::Value& one) {
           return one.at("uri").get_string() == uri;
         });
}

// When it was made, in milliseconds. Source: ULID specification, "Encoding".
base::WallTime time_of(const Ulid& id) {
  constexpr std::string_view kAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  std::int64_t since = 0;
  for (char c : id.text().substr(0, 10)) {
    since = since * 32 + static_cast<std::int64_t>(kAlphabet.find(c));
  }
  return base::WallTime(std::chrono::milliseconds(since));
}

// Of a call without a record of its own: what is kept of each call for a while.
std::optional<KeptCall> kept_call(const Principal& caller, outcomes::Seen seen) {
  auto tool = ToolId::parse(seen.tool);
  if (seen.state == outcomes::State::kNever || !tool || !caller.scopes.allows_invoke(*tool)) {
    return std::nullopt;
  }
  KeptCall kept;
  kept.changed = seen.began;
  if (seen.state == outcomes::State::kRunning) return kept;
  kept.state = KeptCall::State::kEnded;
  if (seen.state == outcomes::State::kUnknown) {
    kept.outcome = refuse(Code::kInternal,
                          "the service ended while the call ran; whether it did its work is not "
                          "known");
  } else if (seen.ended && seen.ended->answer) {
    kept.outcome = std::move(seen.ended->answer->result);
  } else if (seen.ended && seen.ended->fault) {
    kept.outcome = std::move(*seen.ended->fault);
  } else {
    kept.outcome =
        refuse(Code::kLimit, "the call ended (" + (seen.ended ? seen.ended->status : "") +
                                 "), and its answer is no longer kept");
  }
  return kept;
}

}  // namespace

std::optional<ToolId> tool_of_scope(std::string_view scope) {
  constexpr std::string_view kVerb = "tool:invoke:";
  if (!scope.starts_with(kVerb)) return std::nullopt;
  auto id = ToolId::parse(scope.substr(kVerb.size()));
  if (!id) return std::nullopt;
  return *id;
}

// A name with a dot is an id, so no bare name stands for two tools.
std::string PipelineTools::id_of(const std::string& name) const {
  return bare_.empty() || name.contains('.') ? name : bare_ + "." + name;
}

base::Task<Outcome<ToolList>> PipelineTools::list(std::shared_ptr<const Call> call) {
  auto listing = pipeline_.capabilities_for(*call->caller, mode_);
  ToolList list;
  list.etag = listing->etag;
  list.size = listing->tools.size();
  list.tool = [listing, bare = bare_](std::size_t at) {
    const Capability& capability = listing->tools.at(at)->capability;
    return mcp::write_tool(capability, shown(capability.id, bare));
  };
  // Searches ask for a list, too, and read none of it.
  list.text = [this, listing, all = std::shared_ptr<const WrittenList>()](
                  std::size_t at) mutable -> std::string_view {
    if (!all) all = written(listing);
    return all->tools.at(at);
  };
  co_return list;
}

std::shared_ptr<const PipelineTools::WrittenList> PipelineTools::written(
    std::shared_ptr<const pipeline::Listing> listing) {
  auto is_it = [&](const auto& one) { return one->of == listing; };
  {
    std::lock_guard held(mutex_);
    auto found = std::ranges::find_if(written_, is_it);
    if (found != written_.end()) {
      written_.splice(written_.begin(), written_, found);
      return written_.front();
    }
  }
  auto made = std::make_shared<WrittenList>();
  made->tools.reserve(listing->tools.size());
  for (const auto& tool : listing->tools) {
    const Capability& capability = tool->capability;
    made->tools.push_back(
        json::write(json::Value(mcp::write_tool(capability, shown(capability.id, bare_)))));
  }
  made->of = listing;
  std::lock_guard held(mutex_);
  // Another loop may have made it meanwhile.
  std::erase_if(written_, is_it);
  written_.push_front(made);
  if (written_.size() > kWrittenLists) written_.pop_back();
  return made;
}

std::vector<json::Object> PipelineTools::offered(const Call& call, OfferList list) const {
  Offer offer = list == OfferList::kPrompts ? Offer::kPrompt : Offer::kResource;
  std::vector<json::Object> out;
  for (const auto& entry : pipeline_.capabilities_for(*call.caller, mode_, offer)->tools) {
    const json::Object& listed = entry->capability.listed;
    const auto* resources = listed.if_contains("resources");
    if (list != OfferList::kResources) {
      if (resources == nullptr) out.push_back(listed);
    } else if (resources != nullptr) {
      for (const auto& one : resources->get_array()) out.push_back(one.get_object());
    }
  }
  return out;
}

// Which record a URI falls under: the server's list where it stands there, else the first
// template that it fits. One that fits nothing is looked for in the list, where it is
// refused and recorded.
std::string PipelineTools::resource_id(const Principal& caller, const std::string& uri) const {
  auto parts = mcp::inner_uri(uri);
  if (!parts) return {};
  std::string kind(name(Offer::kResource));
  std::string list = kind + ":" + parts->server + "." + std::string(mcp::kListedResources);
  std::string fits;
  for (const auto& entry : pipeline_.capabilities_for(caller, mode_, Offer::kResource)->tools) {
    const Capability& capability = entry->capability;
    if (capability.id.space() != parts->server) continue;
    if (lists(capability.listed, uri)) return list;
    if (!fits.empty() || !capability.listed.contains("uriTemplate")) continue;
    auto uris = mcp::UriTemplate::parse(capability.origin_tool);
    if (uris && uris->matches(parts->uri)) fits = capability.id.text();
  }
  return fits.empty() ? list : fits;
}

base::Task<std::string> PipelineTools::scope_of(std::shared_ptr<const Call>, std::string name,
                                                json::Object) {
  co_return "tool:invoke:" + id_of(name);
}

base::Task<Outcome<ToolResult>> PipelineTools::call(std::shared_ptr<const Call> call,
                                                    ToolCall tool) {
  pipeline::PipelineCall out;
  random_.fill(std::as_writable_bytes(std::span(&out.log_id, 1)));
  out.request_id = tool.id.empty() ? Ulid::make(clock_.now(), random_).text() : tool.id;
  out.session_id = session_of(*call);
  out.peer = call->peer;
  out.traceparent = checked_traceparent(call->meta.traceparent);
  out.principal = call->caller;
  out.mode = mode_;
  out.offer = tool.offer;
  switch (tool.offer) {
    case Offer::kTool: out.tool = id_of(tool.name); break;
    case Offer::kPrompt: out.tool = std::string(name(tool.offer)) + ":" + tool.name; break;
    case Offer::kResource: out.tool = resource_id(*call->caller, tool.name); break;
  }
  auto id = ToolId::parse_any(out.tool);
  bool named = id && id->offer() == tool.offer;
  if (const auto& key = call->meta.idempotency_key;
      !key.empty() && !pipeline::is_idempotency_key(key)) {
    co_return refuse(Code::kShape, "_meta." + std::string(mcp::meta::kIdempotencyKey) +
                                       ": must be 1 to 128 characters from ! to ~");
  }
  out.args = std::move(tool.arguments);
  out.deadline = out.most = tool.time;
  out.idem.key = call->meta.idempotency_key;
  out.inputs = std::move(tool.inputs);
  out.client = call->client;
  out.note = std::move(tool.note);
  out.asker = std::move(tool.asker);
  auto reply = co_await pipeline_.run(std::move(out), std::move(tool.progress));
  // A name that cannot be one's is answered as one that is free.
  if (!reply && !named) {
    co_return refuse(Code::kTool, "no such " + std::string(name(tool.offer)));
  }
  if (!reply) co_return std::move(reply).error();
  co_return std::move(reply->result);
}

workflow::FlowCaller PipelineTools::flow_caller(const Call& call) const {
  return {.principal = call.caller,
          .session_id = session_of(call),
          .peer = call.peer,
          .traceparent = checked_traceparent(call.meta.traceparent),
          .mode = mode_};
}

bool PipelineTools::is_recorded(const std::string& scope) const {
  auto id = tool_of_scope(scope);
  return flows_ != nullptr && id && workflow::is_flow_tool(*id);
}

base::Task<Outcome<std::optional<KeptCall>>> PipelineTools::find_call(
    std::shared_ptr<const Call> call, std::string id) {
  auto name = Ulid::parse(id);
  if (!name || !name->known()) co_return std::optional<KeptCall>();
  if (flows_ != nullptr) {
    auto found = co_await flows_->find(flow_caller(*call), *name);
    if (!found) co_return std::move(found).error();
    // What flow.run began was no call of a tool.
    if (*found && !(*found)->tool.empty()) {
      auto kept = kept_run(*call->caller, std::move(**found));
      if (kept) kept->began = time_of(*name);
      co_return kept;
    }
  }
  auto kept = kept_call(*call->caller, pipeline_.outcome(*call->caller, id));
  if (kept) kept->began = time_of(*name);
  co_return kept;
}

std::optional<KeptCall> PipelineTools::kept_run(const Principal& caller,
                                                workflow::FoundRun run) const {
  auto tool = ToolId::parse(run.tool);
  // Of what another credential of the caller's began, nobody knows whether this one
  // reaches its arguments.
  if (!tool || !caller.scopes.allows_invoke(*tool) || caller.details.names(*tool)) {
    return std::nullopt;
  }
  KeptCall kept;
  bool is_back = run.state == workflow::RunState::kCancelled;
  kept.state = is_back ? KeptCall::State::kTakenBack : KeptCall::State::kGoesOn;
  kept.tool = std::move(run.tool);
  if (run.input.is_object()) kept.arguments = std::move(run.input.get_object());
  kept.changed = run.changed;
  kept.life = flows_->retention();
  return kept;
}

base::Task<Outcome<ToolBackend::TakenBack>> PipelineTools::take_back(
    std::shared_ptr<const Call> call, std::string id) {
  auto name = Ulid::parse(id);
  if (!name || flows_ == nullptr) co_return refuse(Code::kShape, "there is no such call");
  auto report = co_await flows_->cancel(flow_caller(*call), *name, {});
  if (!report) co_return std::move(report).error();
  // Only of a run that somebody is at it says whether.
  co_return report->contains("driven") ? TakenBack::kUnderWay : TakenBack::kIs;
}

Outcome<void> PipelineTools::record(const Call& call, std::string_view what,
                                    std::string_view name) {
  auto recorded = audit_.event(
      what, {{"principal", {{"iss", call.caller->issuer}, {"sub", call.caller->subject}}},
             {"name", name},
             {"peer", call.peer}});
  if (!recorded) return refuse(Code::kBusy, "it cannot be recorded just now");
  return {};
}

}  // namespace tool::mcp_ingress
