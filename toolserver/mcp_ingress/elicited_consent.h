#pragma once

// Consent by the client's own user: a form with one box. A client that can be asked
// while the call waits is asked then: before 2026-07-28, and of a task. Else the call
// is refused with the question, and made again with the answer and a sealed state.
// Source: Model Context Protocol 2026-07-28, "Elicitation"; ADR 0115.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/json/json.h"
#include "toolserver/mcp_ingress/client_side.h"
#include "toolserver/pipeline/consent_hook.h"

namespace tool::mcp_ingress {

/// The name of the question among those of a result that needs input.
inline constexpr std::string_view kConsentRequest = "securetool.consent";

/// Of one call; belongs to its loop.
class ElicitedConsent final : public pipeline::ConsentHook {
 public:
  explicit ElicitedConsent(std::shared_ptr<ClientSide> side) : side_(std::move(side)) {}

  /// The client has answered the question of this call before: `response` is what
  /// it said, from a call whose state was sealed with the question.
  void set_response(base::json::Value response) { response_ = std::move(response); }
  /// It was approved in an earlier round of this call.
  void set_given() { given_ = true; }

  [[nodiscard]] base::Task<Outcome<pipeline::ConsentAnswer>> ask(
      base::RequestContext context, pipeline::ConsentQuestion question) override;

  /// What the client has to be asked, after ask() said kAsked.
  [[nodiscard]] const std::optional<base::json::Object>& question() const { return question_; }
  [[nodiscard]] bool given() const { return given_; }

 private:
  [[nodiscard]] pipeline::ConsentAnswer decide(const base::json::Value& response);

  const std::shared_ptr<ClientSide> side_;
  std::optional<base::json::Value> response_;
  std::optional<base::json::Object> question_;
  bool given_ = false;
};

}  // namespace tool::mcp_ingress
