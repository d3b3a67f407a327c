#include "toolserver/connectors/http/http_tool.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/this_coro.hpp>

#include "base/core/text.h"
#include "toolserver/connectors/answer.h"
#include "toolserver/definition/address_rule.h"

namespace tool::http {
namespace {

using definition::HttpWork;
using definition::Template;

constexpr std::size_t kMaxTarget = 16 << 10;
constexpr std::size_t kMaxHeader = 8 << 10;
constexpr std::size_t kMaxFailure = 4 << 10;
constexpr std::size_t kConnections = 16;
// What a caller can read and correct.
constexpr std::array kCallersFault = {400U, 404U, 409U, 410U, 413U, 415U, 422U};

const std::vector<definition::NamedSecret> kNoSecrets;

// Servers resolve "." and ".." in a path, also when they are written as escapes,
// and treat an empty segment as they please.
Outcome<void> check_segments(const Template& path, const base::json::Object& args) {
  // Text before the first place ends in the segment that it stands in.
  std::string segment;
  bool has_value = false;
  auto end = [&]() -> Outcome<void> {
    bool bad = segment.empty() || segment == "." || segment == "..";
    if (has_value && bad)
      return refuse(Code::kShape, "args: a segment of the path must not be empty, \".\" or \"..\"");
    segment.clear();
    has_value = false;
    return {};
  };
  for (const auto& part : path.parts()) {
    if (part.kind == Template::Part::Kind::kArgument) {
      auto text = definition::scalar_text(args.at(part.text));
      if (!text) return to_fault(std::move(text).error().with_context("args." + part.text));
      segment += *text;
      has_value = true;
      continue;
    }
    for (char c : part.text) {
      if (c != '/') {
        segment += c;
      } else if (auto ended = end(); !ended) {
        return ended;
      }
    }
  }
  return end();
}

Fault busy(const base::http::Response& response) {
  Fault fault = refuse(Code::kBusy, "the tool's server is busy");
  fault.retry_after = std::chrono::seconds(1);
  if (auto after = response.headers.get("Retry-After")) {
    auto seconds = base::parse_int64(*after);
    if (seconds && *seconds >= 0 && *seconds <= 3'600) {
      fault.retry_after = std::chrono::seconds(*seconds);
    }
  }
  return fault;
}

Fault upstream(std::string message, std::string detail) {
  Fault fault = refuse(Code::kUpstream, std::move(message));
  fault.detail = std::move(detail);
  return fault;
}

Fault fault_of(base::Error error) {
  switch (error.kind()) {
    case base::ErrorKind::kTimeout:
    case base::ErrorKind::kCancelled: return to_fault(std::move(error));
    case base::ErrorKind::kTooLarge: return refuse(Code::kLimit, "the tool's answer is too large");
    // Of the target or a header, which hold what the caller sent.
    case base::ErrorKind::kInvalid: return refuse(Code::kShape, "args: " + error.message());
    // Not the caller's doing, and which addresses there are is none of its business.
    case base::ErrorKind::kForbidden:
      return upstream("the tool's server cannot be reached",
                      "its address is in no allowed network");
    case base::ErrorKind::kOutcomeUnknown:
      return upstream("the tool's server gave no whole answer; the request may have had its effect",
                      error.detail());
    default: return upstream("the tool's server cannot be reached", error.detail());
  }
}

base::http::ClientOptions options_of(const definition::ToolDefinition& definition, bool encrypted) {
  const auto& work = std::get<HttpWork>(definition.work);
  base::http::ClientOptions options;
  options.connections = kConnections;
  options.header_bytes = 32 << 10;
  options.body_bytes = definition.capability.limits.output_bytes;
  options.response_time = definition.capability.limits.time;
  options.ca_file = work.ca_file;
  options.may_connect = [rule = definition::AddressRule(work.networks),
                         encrypted](const boost::asio::ip::address& address) {
    return rule.allows(address) && (encrypted || address.is_loopback());
  };
  return options;
}

}  // namespace

Outcome<std::string> target_of(const HttpWork& work, const base::json::Object& args) {
  auto path = work.path.render(args, kNoSecrets, Template::Encoding::kUrl);
  if (!path) return to_fault(std::move(path).error());
  if (!*path) return refuse(Code::kShape, "args: one that the path needs is missing");
  if (auto good = check_segments(work.path, args); !good) return std::move(good).error();
  std::string target = std::move(**path);
  char mark = '?';
  for (const auto& [name, value] : work.query) {
    auto text = value.render(args, kNoSecrets, Template::Encoding::kPlain);
    if (!text) return to_fault(std::move(text).error());
    if (!*text) continue;
    target += fmt::format("{}{}={}", mark, base::percent_encode(name, base::Slash::kEncode),
                          base::percent_encode(**text, base::Slash::kEncode));
    mark = '&';
  }
  if (target.size() > kMaxTarget) return refuse(Code::kShape, "args: too long for an address");
  return target;
}

base::Result<std::unique_ptr<HttpTool>> HttpTool::create(definition::ToolDefinition definition) {
  ASSIGN_OR_RETURN(auto origin,
                   base::http::Origin::parse(std::get<HttpWork>(definition.work).origin));
  return std::unique_ptr<HttpTool>(new HttpTool(std::move(definition), std::move(origin)));
}

HttpTool::HttpTool(definition::ToolDefinition definition, base::http::Origin origin)
    : definition_(std::move(definition)),
      clients_(origin, options_of(definition_, origin.encrypted)) {}

Outcome<base::http::ClientRequest> HttpTool::request_of(const base::json::Object& args) const {
  const auto& work = std::get<HttpWork>(definition_.work);
  base::http::ClientRequest request;
  request.method = work.method;
  auto target = target_of(work, args);
  if (!target) return std::move(target).error();
  request.target = std::move(*target);
  for (const auto& [name, value] : work.headers) {
    auto text = value.render(args, definition_.secrets, Template::Encoding::kPlain);
    if (!text) return to_fault(std::move(text).error());
    if (!*text) continue;
    if ((*text)->size() > kMaxHeader) return refuse(Code::kShape, "args: too long for a header");
    request.headers.add(name, std::move(**text));
  }
  bool is_json = definition_.answer == definition::AnswerForm::kJson;
  if (!request.headers.get("Accept"))
    request.headers.add("Accept", is_json ? "application/json" : "*/*");
  if (work.body.kind == definition::Payload::Kind::kNone) return request;
  auto body = connectors::payload_of(work.body, args);
  if (!body) return std::move(body).error();
  if (!request.headers.get("Content-Type")) {
    bool whole = work.body.kind == definition::Payload::Kind::kArguments;
    request.headers.add("Content-Type", whole ? "application/json" : "text/plain; charset=utf-8");
  }
  request.body = base::http::Body(std::move(*body));
  return request;
}

Outcome<ToolResult> HttpTool::result_of(const base::http::Response& response) const {
  unsigned status = response.status;
  if (status >= 200 && status < 300) {
    return connectors::answer_of(definition_, response.body.text(),
                                 std::get<HttpWork>(definition_.work).pointer);
  }
  if (status == 429 || status == 503) return busy(response);
  if (std::ranges::find(kCallersFault, status) != kCallersFault.end()) {
    std::string text = fmt::format("the server answered with status {}", status);
    if (response.body.size() > 0) {
      text += "\n" + base::shorten(without_secrets(response.body.text(), definition_.secrets),
                                   kMaxFailure);
    }
    return connectors::failure_of(definition_, std::move(text));
  }
  return upstream("the tool's server refused or failed", fmt::format("status {}", status));
}

base::Task<Outcome<ToolResult>> HttpTool::run(Approved<Invocation> call, Progress) {
  CO_ASSIGN_OR_RETURN(auto request, request_of(call->args));
  if (call->dry_run) co_return ToolResult{};
  auto& client = clients_.of(co_await boost::asio::this_coro::executor);
  auto response = co_await client.send(call->context, std::move(request));
  if (!response) co_return fault_of(std::move(response).error());
  co_return result_of(*response);
}

}  // namespace tool::http
