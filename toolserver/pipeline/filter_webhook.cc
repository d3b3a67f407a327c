#include "toolserver/pipeline/filter_webhook.h"

#include "base/crypto/encoding.h"
#include "base/http/dial.h"
#include "base/json/fields.h"
#include "toolserver/pipeline/rate.h"

namespace tool::pipeline {
namespace {

using base::json::Array;
using base::json::Fields;
using base::json::Object;

constexpr std::size_t kMaxContent = 1'024;
constexpr std::size_t kMaxBytes = 64 << 20;

boost::json::string text(std::string_view value) { return boost::json::string(value); }

Object question(const Invocation& call, const ToolResult& result) {
  Array content;
  for (const Content& part : result.content) {
    Object one{{"type", text(part.media_type)}};
    if (part.is_text()) {
      one["text"] = text(part.data);
    } else {
      one["data"] = text(base::crypto::to_base64(part.data));
    }
    content.push_back(std::move(one));
  }
  Object body{{"rid", text(call.request_id)},
              {"principal", text(call.principal->subject)},
              {"tool", text(call.tool.text())},
              {"is_error", result.is_error},
              {"content", std::move(content)}};
  if (result.structured) body["structured"] = *result.structured;
  return body;
}

base::Result<Content> parse_content(const Fields& fields) {
  Content part;
  ASSIGN_OR_RETURN(part.media_type, fields.string("type"));
  if (part.is_text()) {
    ASSIGN_OR_RETURN(part.data, fields.string("text"));
    return part;
  }
  ASSIGN_OR_RETURN(auto encoded, fields.string("data"));
  ASSIGN_OR_RETURN(part.data, base::crypto::from_base64(encoded, kMaxBytes));
  return part;
}

base::Result<Filtered> parse_redacted(const Fields& fields, bool is_error) {
  Filtered filtered;
  filtered.result.is_error = is_error;
  ASSIGN_OR_RETURN(auto parts, fields.objects("content"));
  if (parts.size() > kMaxContent) {
    return base::fail(base::ErrorKind::kTooLarge, "content: too many parts");
  }
  for (const auto& one : parts) {
    ASSIGN_OR_RETURN(auto part, parse_content(one));
    filtered.result.content.push_back(std::move(part));
  }
  if (const auto* structured = fields.find("structured")) filtered.result.structured = *structured;
  ASSIGN_OR_RETURN(auto count, fields.opt_int32("redactions"));
  filtered.redactions = count && *count > 0 ? static_cast<std::uint64_t>(*count) : 1;
  return filtered;
}

}  // namespace

base::Task<Outcome<Filtered>> FilterWebhook::filter(const Invocation& call, ToolResult result) {
  auto could_not_tell = [&](base::Error error) -> Outcome<Filtered> {
    // Whoever makes an answer can make it slow to judge, too long, or such that
    // the hook stumbles; that nobody could be asked is not the caller's doing.
    bool is_unreachable = error.reason() == base::http::kNobodyThere;
    if (failure_ == FilterFailure::kOpen && is_unreachable) return Filtered{std::move(result), 0};
    Fault fault = refuse(Code::kUpstream, "the output filter could not tell");
    fault.detail = error.message() + " " + error.detail();
    return fault;
  };
  auto object =
      co_await webhook_->post(call.context, key_of(*call.principal), question(call, result));
  if (!object) co_return could_not_tell(std::move(object).error());
  base::json::Value value(std::move(*object));
  auto fields = Fields::of(value, "");
  if (!fields) co_return could_not_tell(std::move(fields).error());
  auto action = fields->string("action");
  if (!action) co_return could_not_tell(std::move(action).error());
  if (*action == "pass") co_return Filtered{std::move(result), 0};
  if (*action == "block") co_return refuse(Code::kPolicy, "the answer was blocked by a filter");
  if (*action != "redact") {
    co_return could_not_tell(base::fail(base::ErrorKind::kInvalid, "action: no such value"));
  }
  auto redacted = parse_redacted(*fields, result.is_error);
  if (!redacted) co_return could_not_tell(std::move(redacted).error());
  co_return std::move(*redacted);
}

}  // namespace tool::pipeline
