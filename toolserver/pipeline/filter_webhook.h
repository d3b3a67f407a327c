#pragma once

// Filters answers by HTTP: POST {rid, principal, tool, is_error, content:
// [{type, text | data}], structured?} -> {action: pass | redact | block,
// content?, structured?, redactions?}. With redact, content and structured are
// the whole new answer: what is absent is gone. `data` is base64.
// Source: docs/wire-3.0.md, "Output filter".

#include <cstdint>
#include <memory>

#include "toolserver/pipeline/output_filter.h"
#include "toolserver/pipeline/webhook.h"

namespace tool::pipeline {

/// What it means that the filter cannot be reached. A filter that was asked and
/// gave no answer in time, another status, or an answer that is none, withholds
/// the answer in either case: the caller could bring that about.
enum class FilterFailure : std::uint8_t { kClosed, kOpen };

class FilterWebhook final : public OutputFilter {
 public:
  FilterWebhook(std::unique_ptr<Webhook> webhook, FilterFailure failure)
      : webhook_(std::move(webhook)), failure_(failure) {}
  [[nodiscard]] base::Task<Outcome<Filtered>> filter(const Invocation& call,
                                                     ToolResult result) override;

 private:
  std::unique_ptr<Webhook> webhook_;
  FilterFailure failure_;
};

}  // namespace tool::pipeline
