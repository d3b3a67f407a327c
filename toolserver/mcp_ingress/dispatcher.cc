#include "toolserver/mcp_ingress/dispatcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/json/fields.h"
#include "toolserver/mcp_ingress/params.h"
#include "toolserver/mcp_ingress/task_view.h"
#include "toolserver/mcp_ingress/tasks.h"

namespace tool::mcp_ingress {
namespace {

namespace json = base::json;
namespace method = mcp::method;
using mcp::Revision;

constexpr std::int64_t kListLife = 60'000;  // ms; whoever listens is told earlier.

Reply no_method(std::string_view name, bool stateless) {
  return error_reply(stateless ? 404 : 200, mcp::code::kNoMethod,
                     fmt::format("no method {}", name));
}

// Of those of one caller: others must not be given it.
void add_cache_rule(json::Object& result, std::int64_t life) {
  result["ttlMs"] = life;
  result["cacheScope"] = "private";
}

}  // namespace

struct Dispatcher::Row {
  enum class Era : std::uint8_t { kBoth, kSessions, kStateless };
  enum class Needs : std::uint8_t {
    kNothing,
    kResources,
    kUpdates,  // Of single resources, of which the program's own tell.
    kPrompts,
    kCompletion,
    kTasks
  };
  std::string_view method;
  Era era;
  Needs needs;
  Handler handler;
};

const Dispatcher::Row* Dispatcher::row_of(std::string_view method_name) {
  using enum Row::Era;
  using enum Row::Needs;
  static constexpr std::array kRows{
      Row{method::kDiscover, kStateless, kNothing, &Dispatcher::discover},
      Row{method::kPing, kSessions, kNothing, &Dispatcher::ping},
      Row{method::kSetLevel, kSessions, kNothing, &Dispatcher::set_level},
      Row{method::kListTools, kBoth, kNothing, &Dispatcher::list_tools},
      Row{method::kCallTool, kBoth, kNothing, &Dispatcher::call_tool},
      Row{method::kListResources, kBoth, kResources, &Dispatcher::list_resources},
      Row{method::kListTemplates, kBoth, kResources, &Dispatcher::list_templates},
      Row{method::kReadResource, kBoth, kResources, &Dispatcher::read_resource},
      Row{method::kSubscribe, kSessions, kUpdates, &Dispatcher::subscribe},
      Row{method::kUnsubscribe, kSessions, kUpdates, &Dispatcher::unsubscribe},
      Row{method::kListPrompts, kBoth, kPrompts, &Dispatcher::list_prompts},
      Row{method::kGetPrompt, kBoth, kPrompts, &Dispatcher::get_prompt},
      Row{method::kComplete, kBoth, kCompletion, &Dispatcher::complete},
      Row{method::kGetTask, kStateless, kTasks, &Dispatcher::get_task},
      Row{method::kUpdateTask, kStateless, kTasks, &Dispatcher::update_task},
      Row{method::kCancelTask, kStateless, kTasks, &Dispatcher::cancel_task},
  };
  const auto* found = std::ranges::find(kRows, method_name, &Row::method);
  return found == kRows.end() ? nullptr : found;
}

base::Task<Reply> Dispatcher::run(std::shared_ptr<const Call> call) const {
  bool stateless = mcp::is_stateless(call->revision);
  const Row* row = row_of(call->request.method);
  auto era = stateless ? Row::Era::kStateless : Row::Era::kSessions;
  if (row == nullptr || (row->era != Row::Era::kBoth && row->era != era)) {
    co_return no_method(call->request.method, stateless);
  }
  bool offered = true;
  std::string_view scope;
  switch (row->needs) {
    case Row::Needs::kNothing: break;
    case Row::Needs::kResources:
    case Row::Needs::kUpdates:
      offered =
          row->needs == Row::Needs::kUpdates ? providers_.resources != nullptr : offers_resources();
      scope = "mcp:resources";
      break;
    case Row::Needs::kPrompts:
      offered = offers_prompts();
      scope = "mcp:prompts";
      break;
    case Row::Needs::kCompletion: offered = providers_.completion != nullptr; break;
    case Row::Needs::kTasks: offered = offers_tasks(); break;
  }
  if (!offered) co_return no_method(call->request.method, stateless);
  if (row->needs == Row::Needs::kTasks && !declares_tasks(call->client)) {
    co_return lacks_tasks();
  }
  if (!scope.empty() && !call->caller->scopes.has(scope)) {
    Reply reply = fault_reply(refuse(Code::kScope, fmt::format("the scope {} is missing", scope)));
    reply.wanted_scope = scope;
    co_return reply;
  }
  // What goes through the pipeline is counted there.
  if (row->method != method::kCallTool && !is_bridged(*call)) {
    if (auto admitted = tools_.admit(*call); !admitted) co_return fault_reply(admitted.error());
  }
  co_return finish(*call, co_await (this->*row->handler)(call));
}

// What each result of a stateless revision says beside its own.
Reply Dispatcher::finish(const Call& call, Reply reply) const {
  if (!reply.body || !mcp::is_stateless(call.revision)) return reply;
  json::Object& result = *reply.body;
  if (!result.contains("resultType")) result["resultType"] = "complete";
  result["_meta"] = json::Object{{mcp::meta::kServerInfo, server_info()}};
  return reply;
}

json::Object Dispatcher::server_info() const {
  return {{"name", options_.server_name}, {"version", options_.server_version}};
}

std::vector<std::string> Dispatcher::served_names() const {
  std::vector<std::string> names;
  for (Revision one : mcp::kRevisions) {
    if (one >= options_.minimum) names.emplace_back(mcp::name(one));
  }
  return names;
}

std::expected<Revision, Reply> Dispatcher::served(const std::string& text) const {
  auto revision = mcp::revision_of(text);
  if (revision && *revision >= options_.minimum) return *revision;
  json::Array supported;
  for (const auto& one : served_names()) supported.emplace_back(one);
  return std::unexpected(error_reply(
      400, mcp::code::kUnsupportedVersion, "this revision of the protocol is not served",
      json::Value(json::Object{{"supported", std::move(supported)}, {"requested", text}})));
}

bool Dispatcher::offers_tasks() const { return host_ != nullptr && host_->limits.of_principal > 0; }

json::Object Dispatcher::capabilities(Revision revision) const {
  bool tells = tools_.tells_changes();
  json::Object out;
  json::Object lists;
  if (tells) lists["listChanged"] = true;
  out["tools"] = lists;
  out["logging"] = json::Object();
  if (offers_resources()) {
    out["resources"] = lists;
    if (tells && providers_.resources) out["resources"].as_object()["subscribe"] = true;
  }
  if (offers_prompts()) out["prompts"] = lists;
  if (providers_.completion) out["completions"] = json::Object();
  if (offers_tasks() && mcp::is_stateless(revision)) {
    out["extensions"] = json::Object{{kTasksExtension, json::Object()}};
  }
  return out;
}

base::Task<Reply> Dispatcher::discover(std::shared_ptr<const Call> call) const {
  json::Array versions;
  for (const auto& one : served_names()) versions.emplace_back(one);
  Reply reply;
  reply.body = json::Object{{"supportedVersions", std::move(versions)},
                            {"capabilities", capabilities(call->revision)}};
  add_cache_rule(*reply.body, kListLife);
  co_return reply;
}

std::expected<Dispatcher::Initialized, Reply> Dispatcher::initialize(
    const mcp::Request& request) const {
  auto invalid = [](const base::Error& error) {
    return std::unexpected(error_reply(200, mcp::code::kInvalidParams, error.message()));
  };
  json::Value params(request.params);
  auto fields = json::Fields::of(params, "params");
  if (!fields) return invalid(fields.error());
  auto version = fields->string("protocolVersion");
  if (!version) return invalid(version.error());
  auto client = fields->value("capabilities");
  if (!client) return invalid(client.error());
  if (!(*client)->is_object()) {
    return std::unexpected(
        error_reply(200, mcp::code::kInvalidParams, "params.capabilities: must be an object"));
  }
  // One that is not served is answered with the newest that has sessions, and the
  // client may leave. Source: MCP 2025-11-25, "Version negotiation".
  auto revision = mcp::revision_of(*version);
  bool fits = revision && *revision >= options_.minimum && !mcp::is_stateless(*revision);
  Initialized out{{}, fits ? *revision : mcp::kNewestWithSessions, (*client)->get_object()};
  out.result = {{"protocolVersion", mcp::name(out.revision)},
                {"capabilities", capabilities(out.revision)},
                {"serverInfo", server_info()}};
  return out;
}

base::Task<Reply> Dispatcher::ping(std::shared_ptr<const Call>) const {
  Reply reply;
  reply.body = json::Object();
  co_return reply;
}

base::Task<Reply> Dispatcher::set_level(std::shared_ptr<const Call> call) const {
  const auto* level = call->request.params.if_contains("level");
  auto floor = level == nullptr || !level->is_string()
                   ? std::nullopt
                   : mcp::severity(std::string_view(level->get_string()));
  if (!floor) {
    co_return error_reply(200, mcp::code::kInvalidParams,
                          "params.level: must be a level such as \"info\"");
  }
  if (call->session) call->session->set_log_floor(*floor);
  Reply reply;
  reply.body = json::Object();
  co_return reply;
}

base::Task<Reply> Dispatcher::list_tools(std::shared_ptr<const Call> call) const {
  auto found = co_await tools_.list(call);
  if (!found) co_return fault_reply(found.error());
  Reply reply = page_of_tools(*found, call->request.params);
  if (reply.body && mcp::is_stateless(call->revision)) add_cache_rule(*reply.body, kListLife);
  co_return reply;
}

base::Task<Reply> Dispatcher::list_resources(std::shared_ptr<const Call> call) const {
  std::vector<json::Object> all;
  if (providers_.resources) {
    for (const Resource& one : providers_.resources->resources(*call->caller)) {
      all.push_back(write_resource(one));
    }
  }
  std::ranges::move(tools_.offered(*call, OfferList::kResources), std::back_inserter(all));
  Reply reply = page_of(std::move(all), "resources", call->request.params);
  if (reply.body && mcp::is_stateless(call->revision)) add_cache_rule(*reply.body, kListLife);
  co_return reply;
}

base::Task<Reply> Dispatcher::list_templates(std::shared_ptr<const Call> call) const {
  std::vector<json::Object> all;
  if (providers_.resources) {
    for (const ResourceTemplate& one : providers_.resources->templates(*call->caller)) {
      all.push_back(write_template(one));
    }
  }
  std::ranges::move(tools_.offered(*call, OfferList::kTemplates), std::back_inserter(all));
  Reply reply = page_of(std::move(all), "resourceTemplates", call->request.params);
  if (reply.body && mcp::is_stateless(call->revision)) add_cache_rule(*reply.body, kListLife);
  co_return reply;
}

base::Task<Reply> Dispatcher::read_resource(std::shared_ptr<const Call> call) const {
  if (is_bridged(*call)) co_return co_await play_bridged(call);
  auto uri = text_param(call->request.params, "uri");
  if (!uri) co_return std::move(uri).error();
  auto recorded = tools_.record(*call, "mcp_resource_read", *uri);
  if (!recorded) co_return fault_reply(recorded.error());
  if (!providers_.resources) co_return no_resource(*call, *uri);
  base::RequestContext context;
  auto contents = co_await providers_.resources->read(context, call->caller, *uri);
  bool stateless = mcp::is_stateless(call->revision);
  if (!contents) {
    if (contents.error().code != Code::kTool) co_return fault_reply(contents.error());
    co_return no_resource(*call, *uri);
  }
  json::Array parts;
  for (const Content& one : *contents) parts.push_back(mcp::write_contents(one));
  Reply reply;
  reply.body = json::Object{{"contents", std::move(parts)}};
  if (stateless) add_cache_rule(*reply.body, 0);
  co_return reply;
}

base::Task<Reply> Dispatcher::subscribe(std::shared_ptr<const Call> call) const {
  auto uri = text_param(call->request.params, "uri");
  if (!uri) co_return std::move(uri).error();
  if (!call->session) {
    co_return error_reply(200, mcp::code::kInvalidRequest, "a subscription needs a session");
  }
  auto subscribed = call->session->subscribe(*uri);
  if (!subscribed) co_return fault_reply(subscribed.error());
  Reply reply;
  reply.body = json::Object();
  co_return reply;
}

base::Task<Reply> Dispatcher::unsubscribe(std::shared_ptr<const Call> call) const {
  auto uri = text_param(call->request.params, "uri");
  if (!uri) co_return std::move(uri).error();
  if (call->session) call->session->unsubscribe(*uri);
  Reply reply;
  reply.body = json::Object();
  co_return reply;
}

base::Task<Reply> Dispatcher::list_prompts(std::shared_ptr<const Call> call) const {
  std::vector<json::Object> all;
  if (providers_.prompts) {
    for (const Prompt& one : providers_.prompts->prompts(*call->caller)) {
      all.push_back(write_prompt(one));
    }
  }
  std::ranges::move(tools_.offered(*call, OfferList::kPrompts), std::back_inserter(all));
  Reply reply = page_of(std::move(all), "prompts", call->request.params);
  if (reply.body && mcp::is_stateless(call->revision)) add_cache_rule(*reply.body, kListLife);
  co_return reply;
}

base::Task<Reply> Dispatcher::complete(std::shared_ptr<const Call> call) const {
  auto request = completion_of(call->request.params);
  if (!request) co_return std::move(request).error();
  base::RequestContext context;
  auto found = co_await providers_.completion->complete(context, call->caller, std::move(*request));
  if (!found) co_return fault_reply(found.error());
  Reply reply;
  reply.body = write_completion(*found);
  co_return reply;
}

std::expected<ListenFilter, Reply> Dispatcher::listen_filter(const json::Object& params,
                                                             const Principal& caller,
                                                             const json::Object& client) const {
  auto filter = read_filter(params);
  if (!filter) return filter;
  if (!filter->tasks.empty() && offers_tasks() && !declares_tasks(client)) {
    return std::unexpected(lacks_tasks());
  }
  std::erase_if(filter->tasks,
                [&](const std::string& id) { return !task_news(caller, id).has_value(); });
  bool tells = tools_.tells_changes();
  filter->tools = filter->tools && tells;
  filter->prompts = filter->prompts && tells && offers_prompts();
  filter->resources = filter->resources && tells && offers_resources();
  if (!tells || providers_.resources == nullptr) filter->uris.clear();
  return filter;
}

json::Object Dispatcher::listen_end(const mcp::RequestId& id) const {
  return {
      {"resultType", "complete"},
      {"_meta",
       {{mcp::meta::kServerInfo, server_info()}, {mcp::meta::kSubscriptionId, mcp::to_json(id)}}}};
}

}  // namespace tool::mcp_ingress
