// Prompts and resources of foreign servers: a call of the pipeline, like that of a tool,
// whose answer is written as MCP has it for the two.
// Source: docs/adr/0162.

#include <algorithm>
#include <utility>

#include "base/json/canonical.h"
#include "toolserver/mcp/resource_uri.h"
#include "toolserver/mcp/tool_values.h"
#include "toolserver/mcp_ingress/call_rounds.h"
#include "toolserver/mcp_ingress/dispatcher.h"
#include "toolserver/mcp_ingress/params.h"
#include "toolserver/model/digest.h"

namespace tool::mcp_ingress {
namespace {

namespace json = base::json;
namespace method = mcp::method;

constexpr std::size_t kSaidBytes = 1'024;

std::string_view text_in(const json::Object& object, std::string_view member) {
  const auto* found = object.if_contains(member);
  return found != nullptr && found->is_string() ? std::string_view(found->get_string()) : "";
}

// A refusal of the server's own. Its words have passed the filters, and are no words of ours.
Reply refused_by_server(ToolResult result) {
  std::string said = result.content.empty() ? "" : std::move(result.content[0].data);
  std::size_t end = std::min(said.size(), kSaidBytes);
  while (end < said.size() && end > 0 && (static_cast<unsigned char>(said[end]) & 0xC0) == 0x80) {
    --end;
  }
  said.resize(end);
  json::Object data{{"code", name(Code::kUpstream)}, {"num", number(Code::kUpstream)}};
  if (!said.empty()) data["said"] = said;
  return error_reply(200, mcp::code::kInvalidParams, "the foreign server refuses it",
                     json::Value(std::move(data)));
}

PromptText prompt_text(ToolResult result) {
  const json::Object* structured = result.structured ? result.structured->if_object() : nullptr;
  const auto* roles = structured == nullptr ? nullptr : structured->if_contains("roles");
  PromptText out;
  if (structured != nullptr) out.description = text_in(*structured, "description");
  for (std::size_t i = 0; i < result.content.size(); ++i) {
    // Where a filter has put other parts in their place, they are the user's.
    bool is_model = roles != nullptr && roles->is_array() && i < roles->get_array().size() &&
                    roles->get_array()[i] == "assistant";
    out.messages.push_back({is_model ? "assistant" : "user", std::move(result.content[i])});
  }
  return out;
}

json::Object contents(const ToolWork& work, ToolResult result) {
  json::Array parts;
  for (Content& one : result.content) {
    // Likewise; a part without a URI is none.
    if (one.uri.empty()) one.uri = work.name;
    parts.push_back(mcp::write_contents(one));
  }
  return {{"contents", std::move(parts)}};
}

}  // namespace

bool Dispatcher::is_bridged(const Call& call) const {
  if (call.request.method == method::kReadResource) {
    auto parts = mcp::inner_uri(text_in(call.request.params, "uri"));
    return parts && options_.resource_servers.contains(parts->server);
  }
  if (call.request.method != method::kGetPrompt) return false;
  auto id = ToolId::parse(text_in(call.request.params, "name"));
  return id && options_.prompt_servers.contains(id->space());
}

// Errors: a reply, with the member and the rule.
std::expected<std::shared_ptr<ToolWork>, Reply> Dispatcher::bridged_work(const Call& call) const {
  auto work = std::make_shared<ToolWork>();
  if (call.request.method == method::kReadResource) {
    work->offer = Offer::kResource;
    work->name = text_in(call.request.params, "uri");
    work->arguments = {{"uri", mcp::inner_uri(work->name)->uri}};
  } else {
    auto request = prompt_request_of(call.request.params);
    if (!request) return std::unexpected(std::move(request).error());
    work->offer = Offer::kPrompt;
    work->name = std::move(request->name);
    for (auto& [argument, value] : request->arguments) work->arguments[argument] = value;
  }
  auto text = json::canonical(work->arguments);
  if (!text) {
    return std::unexpected(
        error_reply(200, mcp::code::kInvalidParams, "params.arguments: " + text.error().message()));
  }
  auto round = open_round(call, work->name, digest(*text));
  if (!round) return std::unexpected(std::move(round).error());
  work->round = std::move(*round);
  return work;
}

base::Task<Reply> Dispatcher::play_bridged(std::shared_ptr<const Call> call) const {
  auto work = bridged_work(*call);
  if (!work) {
    // It comes to no pipeline that would count it.
    if (auto admitted = tools_.admit(*call); !admitted) co_return fault_reply(admitted.error());
    co_return std::move(work).error();
  }
  co_return co_await play(call, std::move(*work));
}

Reply offer_reply(const Call& call, const ToolWork& work, ToolResult result) {
  if (result.input_needed) {
    return fault_reply(refuse(Code::kPolicy, "a foreign server has nothing to ask"));
  }
  if (result.is_error) return refused_by_server(std::move(result));
  Reply reply;
  if (work.offer == Offer::kPrompt) {
    reply.body = write_prompt_text(prompt_text(std::move(result)));
    return reply;
  }
  reply.body = contents(work, std::move(result));
  if (mcp::is_stateless(call.revision)) {
    (*reply.body)["ttlMs"] = 0;
    (*reply.body)["cacheScope"] = "private";
  }
  return reply;
}

}  // namespace tool::mcp_ingress
