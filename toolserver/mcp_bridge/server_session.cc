#include "toolserver/mcp_bridge/server_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/json/fields.h"
#include "toolserver/mcp/offer_values.h"
#include "toolserver/mcp/request_meta.h"
#include "toolserver/mcp/tool_values.h"

namespace tool::bridge {
namespace {

namespace json = base::json;

Fault broken(std::string detail) {
  Fault fault = refuse(Code::kUpstream, "the tool's server gave no usable answer");
  fault.detail = std::move(detail);
  return fault;
}

json::Object client_info() { return {{"name", "securetool"}, {"version", "3.0"}}; }

json::Object capabilities_of(const json::Object& result) {
  const auto* capabilities = result.if_contains("capabilities");
  return capabilities != nullptr && capabilities->is_object() ? capabilities->get_object()
                                                              : json::Object();
}

struct List {
  std::string_view capability;
  std::string_view method;
  std::string_view member;  // Of its result.
  std::size_t most;
};
constexpr List list_of(Listed what) {
  switch (what) {
    case Listed::kTools: return {"tools", mcp::method::kListTools, "tools", ServerSession::kTools};
    case Listed::kPrompts:
      return {"prompts", mcp::method::kListPrompts, "prompts", ServerSession::kTools};
    case Listed::kResources:
      return {"resources", mcp::method::kListResources, "resources", ServerSession::kResources};
    case Listed::kTemplates:
      return {"resources", mcp::method::kListTemplates, "resourceTemplates", ServerSession::kTools};
  }
  return {};
}

// The newest stateless revision among those that a server lists.
std::optional<mcp::Revision> common(const json::Value* versions) {
  std::optional<mcp::Revision> best;
  if (versions == nullptr || !versions->is_array()) return best;
  for (const auto& one : versions->get_array()) {
    if (!one.is_string()) continue;
    auto revision = mcp::revision_of(std::string_view(one.get_string()));
    if (revision && mcp::is_stateless(*revision) && (!best || *revision > *best)) best = revision;
  }
  return best;
}

ToolResult refused_by_server(const mcp::RpcError& error) {
  ToolResult result;
  result.is_error = true;
  result.content.push_back({"text/plain", fmt::format("{} ({})", error.message, error.code)});
  return result;
}

}  // namespace

void Unasked::take(const mcp::Notification& notification) const {
  static constexpr std::array kChanges{mcp::method::kToolsChanged, mcp::method::kPromptsChanged,
                                       mcp::method::kResourcesChanged};
  if (std::ranges::find(kChanges, notification.method) != kChanges.end()) {
    if (lists_changed) lists_changed();
    return;
  }
  if (notification.method != mcp::method::kProgress) return;
  const auto* token = notification.params.if_contains("progressToken");
  const auto* done = notification.params.if_contains("progress");
  if (token == nullptr || !token->is_int64() || done == nullptr || !done->is_number()) return;
  auto found = progress.find(token->get_int64());
  if (found == progress.end() || !found->second) return;
  std::optional<double> total;
  const auto* whole = notification.params.if_contains("total");
  if (whole != nullptr && whole->is_number()) total = whole->to_number<double>();
  const auto* message = notification.params.if_contains("message");
  std::string note;
  if (message != nullptr && message->is_string()) note = message->get_string().subview(0, 1024);
  found->second(done->to_number<double>(), total, std::move(note));
}

mcp::Request ServerSession::request(std::string_view method, json::Object params,
                                    const std::string& traceparent) {
  std::int64_t id = ++next_id_;
  if (mcp::is_stateless(revision_)) {
    mcp::RequestMeta meta;
    meta.version = mcp::name(revision_);
    meta.client_capabilities = options_.capabilities;
    meta.client_info = client_info();
    meta.traceparent = traceparent;
    params["_meta"] = mcp::write_meta(meta);
  }
  return {id, std::string(method), std::move(params)};
}

// Whether the server speaks the newest era; an error of any kind says no, since
// that is how older servers answer what they do not know.
base::Task<Outcome<bool>> ServerSession::discover(bool was_refused) {
  auto deadline = std::min(soon(), std::chrono::steady_clock::now() + options_.probe_time);
  auto asked = request(mcp::method::kDiscover, {});
  auto reply = co_await link_.ask(std::move(asked), {}, deadline);
  if (!reply) {
    bool may_be_older =
        reply.error().code == Code::kTimeout || reply.error().code == Code::kUpstream;
    if (may_be_older) co_return false;
    co_return std::move(reply).error();
  }
  if (!*reply) {
    if (reply->error().code != mcp::code::kUnsupportedVersion) co_return false;
    const auto& data = reply->error().data;
    bool lists = data && data->is_object();
    auto revision = common(lists ? data->get_object().if_contains("supported") : nullptr);
    if (!revision) co_return false;
    // It is asked once more in a revision that it lists, and only once.
    if (was_refused) co_return broken("it refuses a revision that it lists");
    revision_ = *revision;
    link_.speak(revision_);
    co_return co_await discover(true);
  }
  auto revision = common((*reply)->if_contains("supportedVersions"));
  if (!revision) co_return false;
  revision_ = *revision;
  offered_ = capabilities_of(**reply);
  co_return true;
}

base::Task<Outcome<void>> ServerSession::initialize() {
  revision_ = mcp::kNewestWithSessions;
  link_.speak(revision_);
  json::Object params{{"protocolVersion", boost::json::string(mcp::name(revision_))},
                      {"capabilities", options_.capabilities},
                      {"clientInfo", client_info()}};
  auto asked = request(mcp::method::kInitialize, std::move(params));
  auto reply = co_await link_.ask(std::move(asked), {}, soon());
  if (!reply) co_return std::move(reply).error();
  if (!*reply) co_return broken(fmt::format("it refuses initialize ({})", reply->error().code));
  const auto* version = (*reply)->if_contains("protocolVersion");
  std::optional<mcp::Revision> agreed;
  if (version != nullptr && version->is_string()) {
    agreed = mcp::revision_of(std::string_view(version->get_string()));
  }
  if (!agreed || mcp::is_stateless(*agreed)) {
    co_return refuse(Code::kVersion, "the tool's server speaks no revision of MCP that is known");
  }
  if (*agreed < options_.oldest) {
    co_return refuse(Code::kVersion, fmt::format("the tool's server speaks MCP {}, which is older "
                                                 "than oldest_version",
                                                 mcp::name(*agreed)));
  }
  revision_ = *agreed;
  offered_ = capabilities_of(**reply);
  link_.speak(revision_);
  co_await link_.tell({std::string(mcp::method::kInitialized), {}}, soon());
  co_await link_.listen(soon());
  co_return Outcome<void>();
}

base::Task<Outcome<std::unique_ptr<ServerSession>>> ServerSession::open(ServerLink& link,
                                                                        Unasked& unasked,
                                                                        SessionOptions options) {
  std::unique_ptr<ServerSession> session(new ServerSession(link, unasked, options));
  bool is_newest = false;
  if (!options.skip_newest) {
    CO_ASSIGN_OR_RETURN(is_newest, co_await session->discover(false));
  }
  if (is_newest) {
    link.speak(session->revision_);
    co_return session;
  }
  if (mcp::is_stateless(options.oldest)) {
    co_return refuse(Code::kVersion,
                     "the tool's server speaks no revision of MCP since oldest_version");
  }
  CO_RETURN_IF_ERROR(co_await session->initialize());
  co_return session;
}

std::unique_ptr<ServerSession> ServerSession::of_agreed(ServerLink& link, Unasked& unasked,
                                                        SessionOptions options,
                                                        mcp::Revision revision) {
  std::unique_ptr<ServerSession> session(new ServerSession(link, unasked, std::move(options)));
  session->revision_ = revision;
  link.speak(revision);
  return session;
}

base::Task<Outcome<std::vector<json::Value>>> ServerSession::list(Listed what) {
  const List list = list_of(what);
  std::vector<json::Value> items;
  const auto* offered = offered_.if_contains(list.capability);
  if (offered == nullptr || !offered->is_object()) co_return items;
  std::set<std::string> cursors;
  std::string cursor;
  std::size_t bytes = 0;
  for (std::size_t page = 0; page < kPages; ++page) {
    json::Object params;
    if (!cursor.empty()) params["cursor"] = cursor;
    auto asked = request(list.method, std::move(params));
    auto reply = co_await link_.ask(std::move(asked), {}, soon());
    if (!reply) co_return std::move(reply).error();
    // Who has resources need not have templates.
    bool has_none = !*reply && reply->error().code == mcp::code::kNoMethod;
    if (has_none && what == Listed::kTemplates) co_return items;
    if (!*reply) {
      co_return broken(fmt::format("it refuses {} ({})", list.method, reply->error().code));
    }
    auto* listed = (*reply)->if_contains(list.member);
    if (listed == nullptr || !listed->is_array()) {
      co_return broken(fmt::format("{}: must be an array", list.member));
    }
    for (auto& one : listed->get_array()) {
      bytes += json::write(one).size();
      if (items.size() >= list.most || bytes > kListBytes) {
        co_return refuse(
            Code::kLimit,
            fmt::format("the server lists too many {}, or too large ones", list.member));
      }
      items.push_back(std::move(one));
    }
    const auto* next = (*reply)->if_contains("nextCursor");
    if (next == nullptr || next->is_null()) co_return items;
    if (!next->is_string()) co_return broken("nextCursor: must be a text");
    cursor = std::string(next->get_string());
    if (cursor.empty()) co_return items;
    if (cursor.size() > 4096 || !cursors.insert(cursor).second) {
      co_return broken("nextCursor: comes again, or is too long");
    }
  }
  co_return refuse(Code::kLimit,
                   fmt::format("the server lists its {} on too many pages", list.member));
}

base::Task<Outcome<ToolResult>> ServerSession::fetch(Fetch fetch) {
  bool is_prompt = fetch.method == mcp::method::kGetPrompt;
  auto asked = request(fetch.method, std::move(fetch.params), fetch.traceparent);
  auto reply = co_await link_.ask(std::move(asked), {}, std::min(fetch.deadline, soon()));
  if (!reply) co_return std::move(reply).error();
  if (!*reply) co_return refused_by_server(reply->error());
  auto result = is_prompt ? mcp::read_prompt_text(std::move(**reply))
                          : mcp::read_contents(std::move(**reply));
  if (!result) co_return broken("its result is none: " + result.error().message());
  co_return std::move(*result);
}

base::Task<Outcome<ToolResult>> ServerSession::call(Call call) {
  json::Object params{{"name", call.name}, {"arguments", std::move(call.args)}};
  if (call.inputs) {
    params["inputResponses"] = std::move(call.inputs->responses);
    if (!call.inputs->state.empty()) params["requestState"] = std::move(call.inputs->state);
  }
  auto asked = request(mcp::method::kCallTool, std::move(params), call.traceparent);
  std::int64_t token = next_id_;
  if (call.progress) {
    auto& meta = asked.params["_meta"];
    if (!meta.is_object()) meta.emplace_object();
    meta.get_object()["progressToken"] = token;
    unasked_.progress.emplace(token, std::move(call.progress));
  }
  auto reply = co_await link_.ask(std::move(asked), std::move(call.headers),
                                  std::min(call.deadline, soon()));
  unasked_.progress.erase(token);
  if (!reply) co_return std::move(reply).error();
  if (!*reply) co_return refused_by_server(reply->error());
  auto result = mcp::read_result(std::move(**reply));
  if (!result) co_return broken("its result is none: " + result.error().message());
  co_return std::move(*result);
}

}  // namespace tool::bridge
