#include "toolserver/mcp_ingress/elicited_consent.h"

#include <fmt/format.h>

#include "toolserver/mcp/revision.h"

namespace tool::mcp_ingress {
namespace {

namespace json = base::json;
using pipeline::ConsentAnswer;
using pipeline::ConsentDecision;
using pipeline::ConsentQuestion;
using pipeline::ConsentScope;

constexpr std::string_view kBy = "the caller by elicitation";

json::Object form_of(const ConsentQuestion& question) {
  json::Object box{{"type", "boolean"},
                   {"title", "Approve"},
                   {"description", "Whether this one call may run."},
                   {"default", false}};
  std::string message =
      fmt::format("{}\n{}\nRisk: {}.", question.summary, question.args_preview, question.risk);
  return {{"message", message},
          {"requestedSchema",
           {{"type", "object"}, {"properties", {{"approve", box}}}, {"required", {"approve"}}}}};
}

}  // namespace

base::Task<Outcome<ConsentAnswer>> ElicitedConsent::ask(base::RequestContext,
                                                        ConsentQuestion question) {
  ConsentAnswer answer{ConsentDecision::kApprove, std::string(kBy), ConsentScope::kOnce};
  if (given_) co_return answer;
  if (response_) co_return decide(*response_);
  json::Object form{{"method", mcp::method::kElicit}, {"params", form_of(question)}};
  if (!side_->can_be_asked()) {
    question_ = std::move(form);
    answer.decision = ConsentDecision::kAsked;
    co_return answer;
  }
  auto results = co_await side_->ask({{kConsentRequest, std::move(form)}});
  if (!results) co_return std::move(results).error();
  const auto* result = results->if_contains(kConsentRequest);
  co_return decide(result == nullptr ? json::Value() : *result);
}

// Anything but a clear yes is no. Source: MCP, "Elicitation: Response actions".
ConsentAnswer ElicitedConsent::decide(const json::Value& response) {
  ConsentAnswer answer{ConsentDecision::kDeny, std::string(kBy), ConsentScope::kOnce};
  const auto* fields = response.if_object();
  const auto* action = fields == nullptr ? nullptr : fields->if_contains("action");
  if (action == nullptr || !action->is_string() || action->get_string() != "accept") return answer;
  const auto* content = fields->if_contains("content");
  if (content == nullptr || !content->is_object()) return answer;
  const auto* approve = content->get_object().if_contains("approve");
  if (approve == nullptr || !approve->is_bool() || !approve->get_bool()) return answer;
  given_ = true;
  answer.decision = ConsentDecision::kApprove;
  return answer;
}

}  // namespace tool::mcp_ingress
