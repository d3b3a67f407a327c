#include "toolserver/guard/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/crypto/encoding.h"
#include "base/json/fields.h"
#include "base/json/pointer.h"
#include "toolserver/pipeline/call.h"

namespace tool::guard {
namespace {

using base::json::Array;
using base::json::Fields;
using base::json::Object;
using base::json::Value;

constexpr std::array<std::pair<std::string_view, Effect>, 5> kEffects = {{
    {"allow", Effect::kAllow},
    {"deny", Effect::kDeny},
    {"consent", Effect::kConsent},
    {"redact", Effect::kRedact},
    {"quarantine", Effect::kQuarantine},
}};

boost::json::string text(std::string_view value) { return boost::json::string(value); }

base::Error invalid(std::string what) {
  return base::fail(base::ErrorKind::kInvalid, std::move(what));
}
base::Error too_large(std::string what) {
  return base::fail(base::ErrorKind::kTooLarge, std::move(what));
}

std::string_view origin_name(OriginKind kind) {
  switch (kind) {
    case OriginKind::kLocal: return "local";
    case OriginKind::kBridge: return "bridge";
    case OriginKind::kPeer: return "peer";
  }
  return "";
}

std::string_view consent_name(ConsentRule rule) {
  switch (rule) {
    case ConsentRule::kNever: return "never";
    case ConsentRule::kFirst: return "first";
    case ConsentRule::kAlways: return "always";
  }
  return "";
}

Object principal_of(const Principal& principal) {
  Array scopes;
  for (const auto& scope : principal.scopes.list()) scopes.push_back(text(scope));
  return Object{{"sub", text(principal.subject)},
                {"iss", text(principal.issuer)},
                {"method", text(name(principal.method))},
                {"scopes", std::move(scopes)},
                {"details", principal.details.json()},
                {"jti", text(principal.token_id)},
                {"cnf", Object{{"jkt", text(principal.bound_to.key)},
                               {"x5t#S256", text(principal.bound_to.certificate)}}}};
}

Object capability_of(const Capability& capability) {
  const Annotations& hints = capability.annotations;
  return Object{{"id", text(capability.id.text())},
                {"namespace", text(capability.id.space())},
                {"version", text(capability.version)},
                {"title", text(capability.title)},
                {"origin", Object{{"kind", text(origin_name(capability.origin))},
                                  {"server", text(capability.origin_name)}}},
                {"annotations", Object{{"read_only", hints.read_only},
                                       {"destructive", hints.destructive},
                                       {"idempotent", hints.idempotent},
                                       {"open_world", hints.open_world}}},
                {"consent", text(consent_name(capability.consent))},
                {"min_mode", text(name(capability.min_mode))}};
}

Object output_of(const ToolResult& result) {
  Array content;
  for (const Content& part : result.content) {
    Object one{{"type", text(part.media_type)}};
    if (part.is_text()) {
      one["text"] = text(part.data);
    } else {
      one["data"] = text(base::crypto::to_base64(part.data));
    }
    if (!part.uri.empty()) one["uri"] = text(part.uri);
    if (!part.name.empty()) one["name"] = text(part.name);
    content.push_back(std::move(one));
  }
  Object output{{"is_error", result.is_error}, {"content", std::move(content)}};
  if (result.structured) output["structured"] = *result.structured;
  return output;
}

// The texts of a list, each within its bounds.
base::Result<std::vector<std::string>> bounded(const Fields& fields, std::string_view key,
                                               std::size_t most, std::size_t bytes) {
  ASSIGN_OR_RETURN(const Array* list, fields.opt_array(key));
  if (!list) return std::vector<std::string>();
  if (list->size() > most) return too_large(fmt::format("{}: over {}", key, most));
  ASSIGN_OR_RETURN(auto texts, fields.strings(key));
  for (const auto& one : texts) {
    if (one.size() > bytes) return too_large(fmt::format("{}: a text over {} bytes", key, bytes));
  }
  return texts;
}

base::Status add_redaction(const Fields& fields, PolicyAnswer& answer) {
  ASSIGN_OR_RETURN(std::string target, fields.string("target"));
  if (target != "result" && target != "arguments") {
    return invalid(fields.path_of("target") + ": must be result or arguments");
  }
  auto& pointers = target == "result" ? answer.redact.result : answer.redact.arguments;
  ASSIGN_OR_RETURN(auto more, bounded(fields, "pointers", kPointers, kPointerBytes));
  if (more.empty()) return invalid(fields.path_of("pointers") + ": must not be empty");
  if (!std::ranges::all_of(more, base::json::is_pointer)) {
    return invalid(fields.path_of("pointers") + ": must be JSON Pointers");
  }
  std::ranges::move(more, std::back_inserter(pointers));
  if (pointers.size() > kPointers) return too_large("obligations: too many pointers");
  return {};
}

base::Status add_obligation(const Fields& fields, PolicyAnswer& answer) {
  ASSIGN_OR_RETURN(std::string type, fields.string("type"));
  if (type == "redact") return add_redaction(fields, answer);
  if (type == "consent") {
    answer.asks_consent = true;
  } else if (type == "quarantine") {
    answer.quarantines = true;
  } else if (type == "no_store") {
    answer.is_kept = false;
  } else {
    return invalid(fields.path_of("type") + ": no obligation of that name can be met");
  }
  return {};
}

// The revisions of all bundles, and of the policy document itself where it has
// one. Nothing when one of them does not say.
base::Result<std::string> revision_of(const Fields& body, const Fields& result) {
  ASSIGN_OR_RETURN(auto own, result.opt_string("revision"));
  std::string revision;
  if (own && !own->empty()) revision = fmt::format("policy={}", *own);
  ASSIGN_OR_RETURN(auto provenance, body.opt_object("provenance"));
  const Value* bundles = provenance ? provenance->find("bundles") : nullptr;
  if (bundles && bundles->is_object()) {
    for (const auto& [bundle, facts] : bundles->get_object()) {
      ASSIGN_OR_RETURN(auto fields, Fields::of(facts, "provenance.bundles"));
      ASSIGN_OR_RETURN(auto one, fields.opt_string("revision"));
      if (!one || one->empty()) return std::string();
      revision +=
          fmt::format("{}{}={}", revision.empty() ? "" : " ", std::string_view(bundle), *one);
    }
  }
  if (revision.size() > kRevisionBytes) return too_large("revision: too long");
  return revision;
}

// What the effect itself obliges to.
base::Status apply_effect(PolicyAnswer& answer) {
  if (answer.effect == Effect::kConsent) answer.asks_consent = true;
  if (answer.effect == Effect::kQuarantine) answer.quarantines = true;
  bool hides = !answer.redact.result.empty() || !answer.redact.arguments.empty();
  if (answer.effect == Effect::kRedact && !hides) {
    return invalid("effect: redact needs an obligation that says what");
  }
  return {};
}

}  // namespace

std::string_view name(Effect effect) {
  for (const auto& [word, value] : kEffects) {
    if (value == effect) return word;
  }
  return "";
}

Object policy_question(Phase phase, const Invocation& call, const Capability& capability,
                       const ToolResult* result) {
  Object input{{"version", "1"},
               {"phase", phase == Phase::kPre ? "pre" : "post"},
               {"request", Object{{"tool", text(call.tool.text())},
                                  {"args", call.args},
                                  {"args_h", text(call.args_hash)},
                                  {"dry_run", call.dry_run}}},
               {"principal", principal_of(*call.principal)},
               {"capability", capability_of(capability)},
               {"session", Object{{"id", text(call.session_id)},
                                  {"mode", text(name(call.mode))},
                                  {"peer", text(call.peer)}}}};
  if (result) input["output"] = output_of(*result);
  return Object{{"input", std::move(input)}};
}

base::Result<PolicyAnswer> parse_policy_answer(const Object& body) {
  Value value(body);
  ASSIGN_OR_RETURN(auto fields, Fields::of(value, ""));
  if (!fields.has("result")) return invalid("result: no policy answers this question");
  ASSIGN_OR_RETURN(auto result, fields.object("result"));
  PolicyAnswer answer;
  ASSIGN_OR_RETURN(std::string effect, result.string("effect"));
  const auto* known = std::ranges::find(kEffects, std::string_view(effect),
                                        &std::pair<std::string_view, Effect>::first);
  if (known == kEffects.end()) {
    return invalid("result.effect: must be allow, deny, consent, redact or quarantine");
  }
  answer.effect = known->second;
  ASSIGN_OR_RETURN(answer.reasons, bounded(result, "reasons", kReasons, kReasonBytes));
  if (result.has("obligations")) {
    ASSIGN_OR_RETURN(auto obligations, result.objects("obligations", kObligations));
    for (const auto& one : obligations) RETURN_IF_ERROR(add_obligation(one, answer));
  }
  RETURN_IF_ERROR(apply_effect(answer));
  ASSIGN_OR_RETURN(answer.revision, revision_of(fields, result));
  return answer;
}

std::string told_reasons(const std::vector<std::string>& reasons) {
  auto is_code = [](const std::string& reason) {
    auto is_inner = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
    };
    return !reason.empty() && reason.size() <= 64 && reason[0] >= 'a' && reason[0] <= 'z' &&
           std::ranges::all_of(reason, is_inner);
  };
  std::string out;
  for (const auto& reason : reasons) {
    if (is_code(reason)) out += (out.empty() ? "" : ", ") + reason;
  }
  return out;
}

}  // namespace tool::guard
