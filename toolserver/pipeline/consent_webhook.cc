#include "toolserver/pipeline/consent_webhook.h"

#include <array>

#include "base/json/fields.h"

namespace tool::pipeline {
namespace {

using base::json::Object;

constexpr std::size_t kMaxBy = 256;

template <class Value, std::size_t size>
base::Result<Value> one_of(const std::array<std::pair<std::string_view, Value>, size>& words,
                           std::string_view word, std::string_view field) {
  for (const auto& [text, value] : words) {
    if (text == word) return value;
  }
  return base::fail(base::ErrorKind::kInvalid, std::string(field) + ": no such value");
}

base::Result<ConsentAnswer> parse_answer(const Object& object) {
  static constexpr std::array<std::pair<std::string_view, ConsentDecision>, 3> kDecisions = {{
      {"approve", ConsentDecision::kApprove},
      {"deny", ConsentDecision::kDeny},
      {"timeout", ConsentDecision::kTimeout},
  }};
  static constexpr std::array<std::pair<std::string_view, ConsentScope>, 3> kScopes = {{
      {"once", ConsentScope::kOnce},
      {"session", ConsentScope::kSession},
      {"args_hash", ConsentScope::kArgsHash},
  }};
  base::json::Value value(object);
  ASSIGN_OR_RETURN(auto fields, base::json::Fields::of(value, ""));
  ConsentAnswer answer;
  ASSIGN_OR_RETURN(auto decision, fields.string("decision"));
  ASSIGN_OR_RETURN(answer.decision, one_of(kDecisions, decision, "decision"));
  ASSIGN_OR_RETURN(auto scope, fields.opt_string("scope"));
  if (scope) {
    ASSIGN_OR_RETURN(answer.scope, one_of(kScopes, *scope, "scope"));
  }
  ASSIGN_OR_RETURN(auto by, fields.opt_string("by"));
  answer.by = by.value_or("webhook").substr(0, kMaxBy);
  return answer;
}

boost::json::string text(std::string_view value) { return boost::json::string(value); }

}  // namespace

base::Task<Outcome<ConsentAnswer>> ConsentWebhook::ask(base::RequestContext context,
                                                       ConsentQuestion question) {
  base::json::Array scopes{"once", "args_hash"};
  if (question.session_scope) scopes.emplace_back("session");
  Object body{{"rid", text(question.request_id)},
              {"sid", text(question.session_id)},
              {"principal", text(question.principal)},
              {"tool", text(question.tool)},
              {"summary", text(question.summary)},
              {"args_preview", text(question.args_preview)},
              {"args_h", text(question.args_hash)},
              {"bytes", question.bytes},
              {"truncated", question.truncated},
              {"scopes", std::move(scopes)},
              {"risk", text(question.risk)},
              {"expires", question.expires.time_since_epoch().count() / 1'000}};
  auto object = co_await webhook_->post(context, std::move(question.principal), std::move(body));
  if (!object) co_return to_fault(std::move(object).error());
  auto answer = parse_answer(*object);
  if (!answer) co_return to_fault(std::move(answer).error());
  co_return std::move(*answer);
}

}  // namespace tool::pipeline
