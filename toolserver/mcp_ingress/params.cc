#include "toolserver/mcp_ingress/params.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/json/fields.h"

namespace tool::mcp_ingress {
namespace {

namespace json = base::json;

constexpr std::size_t kPage = 100;
constexpr std::size_t kToolPage = 1'000;
constexpr std::size_t kToolPageBytes = 1 << 20;
constexpr std::size_t kTextBytes = 4096;
constexpr std::size_t kMostCompletions = 100;
constexpr std::size_t kMostUris = 256;

std::unexpected<Reply> invalid(std::string message) {
  return std::unexpected(error_reply(200, mcp::code::kInvalidParams, std::move(message)));
}

void add_text(json::Object& out, std::string_view member, const std::string& text) {
  if (!text.empty()) out[member] = text;
}

bool read_flag(const json::Object& from, std::string_view member, bool& into) {
  const auto* found = from.if_contains(member);
  if (found == nullptr) return true;
  if (!found->is_bool()) return false;
  into = found->get_bool();
  return true;
}

bool read_texts(const json::Object& from, std::string_view member, std::vector<std::string>& into) {
  const auto* found = from.if_contains(member);
  if (found == nullptr) return true;
  bool is_list = found->is_array() && found->get_array().size() <= kMostUris &&
                 std::ranges::all_of(found->get_array(),
                                     [](const json::Value& one) { return one.is_string(); });
  if (!is_list) return false;
  for (const auto& one : found->get_array()) into.emplace_back(one.get_string());
  return true;
}

}  // namespace

std::expected<std::string, Reply> text_param(const json::Object& params, std::string_view member) {
  const auto* found = params.if_contains(member);
  bool is_text = found != nullptr && found->is_string() && !found->get_string().empty() &&
                 found->get_string().size() <= kTextBytes;
  if (!is_text) return invalid(fmt::format("params.{}: must be a text of 1 to 4096 bytes", member));
  return std::string(found->get_string());
}

std::expected<json::Object, Reply> object_param(const json::Object& params,
                                                std::string_view member) {
  const auto* found = params.if_contains(member);
  if (found == nullptr) return json::Object();
  if (!found->is_object()) return invalid(fmt::format("params.{}: must be an object", member));
  return found->get_object();
}

std::expected<std::optional<Inputs>, Reply> inputs_of(const json::Object& params) {
  const auto* state = params.if_contains("requestState");
  if (!params.contains("inputResponses") && state == nullptr) return std::nullopt;
  auto responses = object_param(params, "inputResponses");
  if (!responses) return std::unexpected(std::move(responses).error());
  Inputs inputs{std::move(*responses), {}};
  for (const auto& one : inputs.responses) {
    if (!one.value().is_object()) {
      return invalid(
          fmt::format("params.inputResponses.{}: must be an object", std::string_view(one.key())));
    }
  }
  if (state != nullptr) {
    if (!state->is_string()) return invalid("params.requestState: must be a text");
    inputs.state = state->get_string();
  }
  return inputs;
}

std::expected<PromptRequest, Reply> prompt_request_of(const json::Object& params) {
  auto name = text_param(params, "name");
  if (!name) return std::unexpected(std::move(name).error());
  auto arguments = object_param(params, "arguments");
  if (!arguments) return std::unexpected(std::move(arguments).error());
  PromptRequest request{std::move(*name), {}, {}, {}};
  for (const auto& one : *arguments) {
    if (!one.value().is_string()) return invalid("params.arguments: must be texts");
    request.arguments.emplace(one.key(), one.value().get_string());
  }
  return request;
}

std::expected<CompletionRequest, Reply> completion_of(const json::Object& params) {
  json::Value value(params);
  auto read = [&]() -> base::Result<CompletionRequest> {
    ASSIGN_OR_RETURN(auto fields, json::Fields::of(value, "params"));
    ASSIGN_OR_RETURN(auto reference, fields.object("ref"));
    ASSIGN_OR_RETURN(auto argument, fields.object("argument"));
    CompletionRequest out;
    ASSIGN_OR_RETURN(out.kind, reference.string("type"));
    ASSIGN_OR_RETURN(out.reference, reference.string(out.kind == "ref/resource" ? "uri" : "name"));
    ASSIGN_OR_RETURN(out.argument, argument.string("name"));
    ASSIGN_OR_RETURN(out.value, argument.string("value"));
    return out;
  };
  auto request = read();
  if (!request) return invalid(request.error().message());
  if (request->kind != "ref/prompt" && request->kind != "ref/resource") {
    return invalid("params.ref.type: must be ref/prompt or ref/resource");
  }
  return std::move(*request);
}

std::expected<ListenFilter, Reply> read_filter(const json::Object& params) {
  const auto* value = params.if_contains("notifications");
  if (value == nullptr || !value->is_object()) {
    return invalid("params.notifications: must be an object");
  }
  const json::Object& wanted = value->get_object();
  ListenFilter filter;
  bool flags = read_flag(wanted, "toolsListChanged", filter.tools) &&
               read_flag(wanted, "promptsListChanged", filter.prompts) &&
               read_flag(wanted, "resourcesListChanged", filter.resources);
  if (!flags) return invalid("params.notifications: its flags must be booleans");
  for (auto [member, into] :
       {std::pair{"resourceSubscriptions", &filter.uris}, std::pair{"taskIds", &filter.tasks}}) {
    if (!read_texts(wanted, member, *into)) {
      return invalid(
          fmt::format("params.notifications.{}: must be {} texts at most", member, kMostUris));
    }
  }
  return filter;
}

namespace {

// Where of `size` a page begins.
std::expected<std::size_t, Reply> begin_of(const json::Object& params, std::size_t size) {
  std::size_t from = 0;
  if (const auto* cursor = params.if_contains("cursor")) {
    std::string text = cursor->is_string() ? std::string(cursor->get_string()) : std::string("-");
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), from);
    if (error != std::errc() || end != text.data() + text.size()) {
      return invalid("params.cursor: must be one that was given");
    }
  }
  return std::min(from, size);
}

void name_next(Reply& reply, std::size_t end, std::size_t size) {
  if (end < size) reply.body->emplace("nextCursor", std::to_string(end));
}

}  // namespace

Reply page_of(std::vector<json::Object> all, std::string_view member, const json::Object& params) {
  auto begin = begin_of(params, all.size());
  if (!begin) return std::move(begin).error();
  json::Array page;
  std::size_t end = *begin + std::min(kPage, all.size() - *begin);
  for (std::size_t i = *begin; i < end; ++i) page.push_back(std::move(all[i]));
  Reply reply;
  reply.body = json::Object{{member, std::move(page)}};
  name_next(reply, end, all.size());
  return reply;
}

Reply page_of_tools(const ToolList& all, const json::Object& params) {
  auto begin = begin_of(params, all.size);
  if (!begin) return std::move(begin).error();
  Reply reply;
  reply.body = json::Object();
  std::size_t end = *begin;
  if (!all.text) {
    auto& page = (*reply.body)["tools"].emplace_array();
    for (; end < all.size && page.size() < kPage; ++end) page.push_back(all.tool(end));
  } else {
    std::string page = "[";
    for (; end < all.size && end - *begin < kToolPage; ++end) {
      std::string_view tool = all.text(end);
      if (end > *begin && page.size() + tool.size() > kToolPageBytes) break;
      if (end > *begin) page += ',';
      page += tool;
    }
    page += ']';
    reply.written = WrittenMember{"tools", std::move(page)};
  }
  name_next(reply, end, all.size);
  return reply;
}

Reply no_resource(const Call& call, const std::string& uri) {
  bool is_stateless = mcp::is_stateless(call.revision);
  int number = is_stateless ? mcp::code::kInvalidParams : mcp::code::kResourceNotFound;
  return error_reply(200, number, "no such resource", json::Value(json::Object{{"uri", uri}}));
}

json::Object write_resource(const Resource& resource) {
  json::Object out{{"uri", resource.uri}, {"name", resource.name}};
  add_text(out, "title", resource.title);
  add_text(out, "description", resource.description);
  add_text(out, "mimeType", resource.media_type);
  return out;
}

json::Object write_template(const ResourceTemplate& resource) {
  json::Object out{{"uriTemplate", resource.uri_template}, {"name", resource.name}};
  add_text(out, "title", resource.title);
  add_text(out, "description", resource.description);
  add_text(out, "mimeType", resource.media_type);
  return out;
}

json::Object write_prompt(const Prompt& prompt) {
  json::Object out{{"name", prompt.name}};
  add_text(out, "title", prompt.title);
  add_text(out, "description", prompt.description);
  json::Array arguments;
  for (const PromptArgument& one : prompt.arguments) {
    json::Object argument{{"name", one.name}};
    add_text(argument, "description", one.description);
    argument["required"] = one.required;
    arguments.push_back(std::move(argument));
  }
  if (!arguments.empty()) out["arguments"] = std::move(arguments);
  return out;
}

json::Object write_prompt_text(const PromptText& text) {
  json::Array messages;
  for (std::size_t i = 0; i < text.messages.size(); ++i) {
    const PromptMessage& one = text.messages[i];
    messages.push_back(
        json::Object{{"role", one.role}, {"content", mcp::write_content(one.content, i)}});
  }
  json::Object out;
  add_text(out, "description", text.description);
  out["messages"] = std::move(messages);
  return out;
}

json::Object write_completion(const Completion& completion) {
  json::Array values;
  for (const auto& one : completion.values) {
    if (values.size() == kMostCompletions) break;
    values.emplace_back(one);
  }
  bool more = completion.values.size() > kMostCompletions ||
              completion.total.value_or(0) > completion.values.size();
  json::Object out{{"values", std::move(values)}, {"hasMore", more}};
  if (completion.total) out["total"] = *completion.total;
  return {{"completion", std::move(out)}};
}

}  // namespace tool::mcp_ingress
