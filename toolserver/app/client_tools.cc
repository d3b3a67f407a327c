#include "toolserver/app/client_tools.h"

#include <utility>

#include "base/crypto/encoding.h"
#include "toolserver/mcp/tool_values.h"
#include "toolserver/model/tool_id.h"

namespace tool::app {
namespace {

namespace json = base::json;

std::string member(const json::Object& part, std::string_view name) {
  const auto* found = part.if_contains(name);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

// A part as docs/wire-3.0.md, section 9, writes it.
Outcome<Content> content_of(const json::Value& value) {
  const auto* part = value.if_object();
  if (part == nullptr) return refuse(Code::kUpstream, "the service sent content that is none");
  Content content{member(*part, "media_type"), {}};
  if (member(*part, "type") == "text") {
    content.data = member(*part, "text");
    return content;
  }
  std::string text = member(*part, "data");
  auto bytes = base::crypto::from_base64url(text, text.size());
  if (!bytes) return refuse(Code::kUpstream, "the service sent content that is none");
  content.data = std::move(*bytes);
  return content;
}

void tell(const Progress& progress, const json::Object& step) {
  const auto* done = step.if_contains("done");
  const auto* total = step.if_contains("total");
  if (done == nullptr || !done->is_number()) return;
  std::optional<double> all;
  if (total != nullptr && total->is_number()) all = total->to_number<double>();
  progress(done->to_number<double>(), all, member(step, "note"));
}

}  // namespace

// The service sends its list again only when it is another.
base::Task<Outcome<mcp_ingress::ToolList>> ClientTools::list(
    std::shared_ptr<const mcp_ingress::Call>) {
  auto all = co_await client_.list_capabilities(known_);
  if (!all) co_return std::move(all).error();
  known_ = *all;
  mcp_ingress::ToolList list;
  list.etag = (*all)->etag;
  list.size = (*all)->records.size();
  list.tool = [all = *all](std::size_t at) { return mcp::write_tool(all->records.at(at)); };
  co_return list;
}

base::Task<std::string> ClientTools::scope_of(std::shared_ptr<const mcp_ingress::Call>,
                                              std::string name, json::Object) {
  co_return "tool:invoke:" + name;
}

base::Task<Outcome<ToolResult>> ClientTools::call(std::shared_ptr<const mcp_ingress::Call> call,
                                                  mcp_ingress::ToolCall tool) {
  client::InvokeOptions options;
  options.idempotency_key = call->meta.idempotency_key;
  if (tool.progress) {
    options.progress = [progress = std::move(tool.progress)](const json::Object& step) {
      tell(progress, step);
    };
  }
  bool named = ToolId::parse(tool.name).has_value();
  auto reply = co_await client_.invoke_tool(std::move(tool.name), std::move(tool.arguments),
                                            std::move(options));
  // A name that cannot be one's is answered as one that is free.
  if (!reply && !named) co_return refuse(Code::kTool, "no such tool");
  if (!reply) co_return std::move(reply).error();
  ToolResult result;
  for (const auto& part : reply->content) {
    auto content = content_of(part);
    if (!content) co_return std::move(content).error();
    result.content.push_back(std::move(*content));
  }
  result.structured = std::move(reply->structured);
  result.is_error = reply->is_error;
  co_return result;
}

}  // namespace tool::app
