#pragma once

// Payloads of the operations as values: read once, every member checked.
// Source: docs/wire-3.0.md, sections 9 and 10.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json/json.h"
#include "toolserver/model/fault.h"
#include "toolserver/outcomes/outcome_store.h"
#include "toolserver/pipeline/call.h"
#include "toolserver/pipeline/registry.h"
#include "toolserver/transport/operation.h"

namespace tool::transport {

struct ListRequest {
  std::size_t from = 0;  ///< Of the cursor.
  std::string filter;    ///< Prefix of the id.
  std::string etag;
  std::size_t limit = 100;  ///< 1 to 1000.
};

/// How long fed.caps may wait for a list that differs, at most.
inline constexpr std::chrono::milliseconds kMostWait{30'000};

struct InvokeRequest {
  std::string tool;
  base::json::Object args;
  bool dry_run = false;
  std::string idem;  ///< Idempotency key; empty for none.
  pipeline::ContentForm form = pipeline::ContentForm::kWhole;
};

/// The payload of fed.forward.
struct ForwardRequest {
  std::string tool;
  base::json::Object args;
  std::vector<std::string> proofs;  ///< 1 to 8.
  Idempotency idem;
  bool dry_run = false;
  pipeline::ContentForm form = pipeline::ContentForm::kWhole;
};

/// The sessions that admin.session.close means.
struct SessionChoice {
  std::string member;  ///< session_id, or sub: all sessions of a subject.
  std::string value;
};

/// The approvals that admin.consent.revoke means.
struct ConsentChoice {
  std::int64_t id = 0;  ///< 0: all of `subject`.
  std::string subject;
};

/// Readers. Errors: E_SHAPE  the message begins with "p." and the member.
[[nodiscard]] Outcome<ListRequest> read_list(const base::json::Object& payload);
/// `wait_ms` of fed.caps; 0 where there is none.
[[nodiscard]] Outcome<std::chrono::milliseconds> read_wait(const base::json::Object& payload);
[[nodiscard]] Outcome<std::string> read_tool(const base::json::Object& payload);
[[nodiscard]] Outcome<SessionChoice> read_session_choice(const base::json::Object& payload);
[[nodiscard]] Outcome<ConsentChoice> read_consent_choice(const base::json::Object& payload);
/// The id that tool.outcome asks about.
[[nodiscard]] Outcome<std::string> read_id(const base::json::Object& payload);
[[nodiscard]] Outcome<InvokeRequest> read_invoke(base::json::Object payload);
[[nodiscard]] Outcome<ForwardRequest> read_forward(base::json::Object payload);

/// What cap.list answers: the tools of one page, and the members beside them.
struct ToolPage {
  std::vector<std::shared_ptr<const pipeline::ToolEntry>> tools;
  base::json::Object others;  ///< Of names that come after "capabilities".
  bool is_unchanged = false;  ///< The others alone are the answer.
};
/// Made of the texts that the tools have, unless one has none.
[[nodiscard]] Payload write_page(ToolPage page);

/// A part of content as the wire writes it.
[[nodiscard]] base::json::Object write_content(Content content);
/// The answer of tool.invoke; `content` is the parts already written.
[[nodiscard]] base::json::Object write_reply(pipeline::PipelineReply reply,
                                             base::json::Array content);
/// The answer of tool.outcome, section 9.2.
[[nodiscard]] base::json::Object write_outcome(outcomes::Seen seen);

}  // namespace tool::transport
