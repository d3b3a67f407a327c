#include "toolserver/mcp_ingress/pipeline_tools.h"

#include <algorithm>
#include <span>
#include <utility>

#include "toolserver/mcp/revision.h"
#include "toolserver/mcp/tool_values.h"
#include "toolserver/model/ulid.h"

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

}  // namespace

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

base::Task<std::string> PipelineTools::scope_of(std::shared_ptr<const Call>, std::string name,
                                                json::Object) {
  co_return "tool:invoke:" + id_of(name);
}

base::Task<Outcome<ToolResult>> PipelineTools::call(std::shared_ptr<const Call> call,
                                                    ToolCall tool) {
  pipeline::PipelineCall out;
  random_.fill(std::as_writable_bytes(std::span(&out.log_id, 1)));
  out.request_id = Ulid::make(clock_.now(), random_).text();
  out.session_id = session_of(*call);
  out.peer = call->peer;
  out.traceparent = checked_traceparent(call->meta.traceparent);
  out.principal = call->caller;
  out.mode = mode_;
  out.tool = id_of(tool.name);
  bool named = ToolId::parse(out.tool).has_value();
  if (const auto& key = call->meta.idempotency_key;
      !key.empty() && !pipeline::is_idempotency_key(key)) {
    co_return refuse(Code::kShape, "_meta." + std::string(mcp::meta::kIdempotencyKey) +
                                       ": must be 1 to 128 characters from ! to ~");
  }
  out.args = std::move(tool.arguments);
  out.idem.key = call->meta.idempotency_key;
  out.inputs = std::move(tool.inputs);
  out.client = call->client;
  out.note = std::move(tool.note);
  out.asker = std::move(tool.asker);
  auto reply = co_await pipeline_.run(std::move(out), std::move(tool.progress));
  // A name that cannot be one's is answered as one that is free.
  if (!reply && !named) co_return refuse(Code::kTool, "no such tool");
  if (!reply) co_return std::move(reply).error();
  co_return std::move(reply->result);
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
