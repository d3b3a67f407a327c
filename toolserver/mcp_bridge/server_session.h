#pragma once

// What is said to a foreign server, in the era that it speaks: the newest first,
// and where that is not understood the handshake of the older ones.
// Sources: Model Context Protocol 2026-07-28, "Versioning", "Discovery",
// "Tools"; 2025-11-25, "Lifecycle", "Tools", "Progress", "Cancellation".

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json/json.h"
#include "toolserver/mcp_bridge/server_link.h"
#include "toolserver/model/invocation.h"

namespace tool::bridge {

/// Shared with the link's events: what comes without being asked for.
struct Unasked {
  std::map<std::int64_t, Progress> progress;  ///< By token.
  std::function<void()> lists_changed;        ///< Of tools, prompts or resources.

  void take(const mcp::Notification& notification) const;
};

struct SessionOptions {
  mcp::Revision oldest = mcp::kRevisions.front();  ///< That is spoken.
  std::chrono::milliseconds timeout{60'000};       ///< Of one request.
  std::chrono::milliseconds probe_time{15'000};  ///< For an answer to the newest era's first word.
  /// What this side can do, as MCP writes it. Bridges can do nothing.
  base::json::Object capabilities = {};
  bool skip_newest = false;  ///< The server went away when it was asked in the newest era.
  /// Ids of requests begin after it. Sessions with one server have ids apart.
  std::int64_t last_id = 0;
};

/// What a server has lists of.
enum class Listed : std::uint8_t { kTools, kPrompts, kResources, kTemplates };

/// Used from the event loop of its link, by coroutines that have set
/// this_coro::throw_if_cancelled(false).
class ServerSession {
 public:
  static constexpr std::size_t kTools = 512;  ///< Of each list but that of resources.
  static constexpr std::size_t kResources = 2'048;
  static constexpr std::size_t kPages = 64;
  static constexpr std::size_t kListBytes = 2 << 20;  ///< Of all items of a list, as JSON.

  /// Agrees on a revision. `link` and `unasked` outlive the session.
  /// Errors: E_VERSION  no revision in common that is allowed; E_UPSTREAM,
  ///         E_TIMEOUT, E_LIMIT  of the link, or the server does not do as
  ///         the protocol says.
  [[nodiscard]] static base::Task<Outcome<std::unique_ptr<ServerSession>>> open(
      ServerLink& link, Unasked& unasked, SessionOptions options);

  /// With a server that another one has agreed on `revision` with. Asks nothing; for calls
  /// alone, since what the server has lists of is not known.
  [[nodiscard]] static std::unique_ptr<ServerSession> of_agreed(ServerLink& link, Unasked& unasked,
                                                                SessionOptions options,
                                                                mcp::Revision revision);

  [[nodiscard]] mcp::Revision revision() const { return revision_; }

  /// Every tool, prompt and so on as the server describes it, page by page; none where it
  /// does not say that it has such.
  /// Errors: E_LIMIT  over a bound; E_UPSTREAM  a page that is none, a cursor
  ///         that comes again; those of the link.
  [[nodiscard]] base::Task<Outcome<std::vector<base::json::Value>>> list(Listed what);

  struct Call {
    std::string name;  ///< The server's own.
    base::json::Object args;
    std::string traceparent;
    Progress progress;  ///< Called on this loop; may be empty.
    base::Deadline deadline;
    HeaderValues headers = {};          ///< ParamHeaders::of() the arguments.
    std::optional<Inputs> inputs = {};  ///< What a first answer asked for.
  };
  /// What the server says, which the output filters see: also its refusal is a
  /// result, with is_error. One that needs input is made again with it.
  /// Errors: E_UPSTREAM, E_LIMIT, E_BUSY, E_TIMEOUT, E_CANCELLED  as
  ///         ServerLink::ask().
  [[nodiscard]] base::Task<Outcome<ToolResult>> call(Call call);

  struct Fetch {
    std::string_view method;  ///< A literal.
    base::json::Object params;
    std::string traceparent;
    base::Deadline deadline;
  };
  /// The contents of a resource, or the text of a prompt; a refusal as with call().
  /// Errors: likewise.
  [[nodiscard]] base::Task<Outcome<ToolResult>> fetch(Fetch fetch);

 private:
  ServerSession(ServerLink& link, Unasked& unasked, SessionOptions options)
      : link_(link), unasked_(unasked), options_(options), next_id_(options.last_id) {}

  base::Task<Outcome<bool>> discover(bool was_refused);
  base::Task<Outcome<void>> initialize();
  [[nodiscard]] mcp::Request request(std::string_view method, base::json::Object params,
                                     const std::string& traceparent = {});
  [[nodiscard]] base::Deadline soon() const {
    return std::chrono::steady_clock::now() + options_.timeout;
  }

  ServerLink& link_;
  Unasked& unasked_;
  SessionOptions options_;
  mcp::Revision revision_ = mcp::kNewest;
  base::json::Object offered_;  // Its capabilities.
  std::int64_t next_id_;
};

}  // namespace tool::bridge
