#include <fmt/format.h>

#include <boost/asio/this_coro.hpp>
#include <utility>

#include "toolserver/mcp_ingress/dispatcher.h"

namespace tool::mcp_ingress {
namespace {

namespace json = base::json;

int rpc_code(Code code) {
  switch (code) {
    case Code::kParse: return mcp::code::kParse;
    case Code::kShape:
    case Code::kTool:
    case Code::kShadow:
    case Code::kPin: return mcp::code::kInvalidParams;
    case Code::kOp: return mcp::code::kNoMethod;
    case Code::kVersion: return mcp::code::kUnsupportedVersion;
    case Code::kState: return mcp::code::kInvalidRequest;
    case Code::kUpstream:
    case Code::kInternal: return mcp::code::kInternal;
    default: return mcp::code::kRefused;
  }
}

unsigned status_of(Code code) {
  switch (code) {
    case Code::kAuth:
    case Code::kExpired: return 401;
    case Code::kScope: return 403;
    default: return 200;
  }
}

}  // namespace

Reply error_reply(unsigned status, int code, std::string message, std::optional<json::Value> data) {
  Reply reply;
  reply.body = std::unexpected(mcp::RpcError{code, std::move(message), std::move(data)});
  reply.status = status;
  return reply;
}

Reply fault_reply(const Fault& fault) {
  json::Object data{{"code", name(fault.code)}, {"num", number(fault.code)}};
  if (fault.retry_after) data["retry_ms"] = fault.retry_after->count();
  return error_reply(status_of(fault.code), rpc_code(fault.code), fault.message,
                     json::Value(std::move(data)));
}

base::Task<Reply> without_exception(base::Task<Reply> work) {
  // What is cancelled ends with a value, so that its traces are written.
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  try {
    co_return co_await std::move(work);
  } catch (...) {
    co_return fault_reply(refuse(Code::kInternal, "internal error"));
  }
}

std::string write_reply(const mcp::RequestId& id, Reply reply) {
  if (reply.body && reply.written) {
    std::string out = R"({"jsonrpc":"2.0","id":)";
    out.reserve(out.size() + reply.written->json.size() + 512);
    json::append(out, mcp::to_json(id));
    out += R"(,"result":{)";
    json::append_quoted(out, reply.written->name);
    out += ':';
    out += reply.written->json;
    for (const auto& member : *reply.body) {
      out += ',';
      json::append_quoted(out, std::string_view(member.key()));
      out += ':';
      json::append(out, member.value());
    }
    out += "}}";
    return out;
  }
  if (reply.body) return mcp::write(mcp::Answer{id, std::move(*reply.body)});
  return mcp::write(mcp::ErrorAnswer{id, std::move(reply.body).error()});
}

json::Object ListenFilter::to_json() const {
  json::Object out;
  if (tools) out["toolsListChanged"] = true;
  if (prompts) out["promptsListChanged"] = true;
  if (resources) out["resourcesListChanged"] = true;
  for (auto [member, names] :
       {std::pair{"resourceSubscriptions", &uris}, std::pair{"taskIds", &tasks}}) {
    if (names->empty()) continue;
    auto& list = out[member].emplace_array();
    for (const auto& one : *names) list.emplace_back(one);
  }
  return out;
}

}  // namespace tool::mcp_ingress
