#pragma once

// Asks for consent by HTTP: POST {rid, sid, principal, tool, summary,
// args_preview, args_h, bytes, truncated, scopes, risk, expires} -> {decision:
// approve | deny | timeout, by, scope: once | session | args_hash}. Fails closed.
// Source: docs/wire-3.0.md, "Consent".

#include <memory>

#include "toolserver/pipeline/consent_hook.h"
#include "toolserver/pipeline/webhook.h"

namespace tool::pipeline {

class ConsentWebhook final : public ConsentHook {
 public:
  explicit ConsentWebhook(std::unique_ptr<Webhook> webhook) : webhook_(std::move(webhook)) {}
  /// Errors: E_UPSTREAM, E_TIMEOUT, E_LIMIT  no answer, see Webhook::post();
  /// E_SHAPE  an answer with a member that is missing or unknown.
  [[nodiscard]] base::Task<Outcome<ConsentAnswer>> ask(base::RequestContext context,
                                                       ConsentQuestion question) override;

 private:
  std::unique_ptr<Webhook> webhook_;
};

}  // namespace tool::pipeline
