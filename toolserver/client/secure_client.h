#pragma once

// The library that programs link to call tools: connect, list what there is,
// call it, disconnect. Handshake, keys, signatures, renewals and their clocks
// are its own affair.
//
//   auto client = tool::client::SecureClient::create(options, clock, random);
//   auto opened = co_await (*client)->connect();
//   auto reply = co_await (*client)->invoke_tool("sql.query", {{"sql", "SELECT 42"}});
//
// Source: specification, section 2.3; docs/wire-3.0.md.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/json/json.h"
#include "base/runtime/task.h"
#include "toolserver/client/client_options.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/ulid.h"
#include "toolserver/session/session_state.h"

namespace tool::client {

/// What the server said of the session.
struct SessionInfo {
  std::string session_id;
  std::string node_id;
  std::string cluster;
  std::string suite;
  std::string subject;
  std::vector<std::string> scopes;
};

struct InvokeOptions {
  std::chrono::milliseconds deadline{30'000};  ///< Sent along, and kept here.
  bool dry_run = false;                        ///< Every check, but not the tool.
  std::string traceparent;                     ///< W3C Trace Context; or empty.
  /// 1 to 128 visible characters of ASCII, or empty. The server does a call with a
  /// key once; so when its connection is lost, it is sent again on a new one (with
  /// Reconnect::kForCalls) until its outcome is known or the deadline is over.
  std::string idempotency_key;
  /// Called on the loop for each tool.progress.
  std::function<void(const base::json::Object&)> progress;
};

/// A run of a workflow. Source: docs/wire-3.0.md, section 19.
struct FlowRun {
  Ulid run;  ///< A new one; or that of a run to go on with.
  /// What docs/schemas/workflow.json describes; none: the run is there already.
  std::optional<base::json::Object> workflow;
  base::json::Value input;                        ///< null for none.
  std::chrono::milliseconds patience{3'600'000};  ///< For its end.
  /// Called on the loop for each step that ends.
  std::function<void(const base::json::Object&)> progress;
};

/// What list_capabilities() gave, for whoever asks again.
struct CapabilityList {
  std::string etag;
  std::vector<base::json::Object> records;
};

/// The answer of a tool, as docs/wire-3.0.md, section 9, writes it.
struct ToolReply {
  base::json::Array content;
  std::optional<base::json::Value> structured;
  bool is_error = false;
  base::json::Object payload;  ///< All of it, with usage, redactions and audit.
};

/// Belongs to the event loop that runs its tasks, which outlives it. Calls may run side by side.
/// The faults of all calls: those of the server by its codes; E_UPSTREAM  not connected, or the
/// connection was lost while a call without a key was under way (whether it ran is then not
/// known); E_TIMEOUT; E_CANCELLED; E_SIG, E_STATE, E_PARSE  the server broke
/// the protocol, and the connection is closed.
class SecureClient {
 public:
  /// `clock` and `random` outlive it. Connects to nothing yet.
  /// Errors: kInvalid  see check().
  [[nodiscard]] static base::Result<std::unique_ptr<SecureClient>> create(ClientOptions options,
                                                                          const base::Clock& clock,
                                                                          base::Random& random);
  ~SecureClient();

  /// Connects, shakes hands and authenticates.
  [[nodiscard]] base::Task<Outcome<SessionInfo>> connect();
  /// Every capability that the caller may see, as records of section 10.
  [[nodiscard]] base::Task<Outcome<std::vector<base::json::Object>>> list_capabilities();
  /// The same; `known`, which may be null, where the server says that it is still so.
  [[nodiscard]] base::Task<Outcome<std::shared_ptr<const CapabilityList>>> list_capabilities(
      std::shared_ptr<const CapabilityList> known);
  [[nodiscard]] base::Task<Outcome<ToolReply>> invoke_tool(std::string tool,
                                                           base::json::Object args,
                                                           InvokeOptions options = {});
  /// Whether a call ran, by its id: the answer of section 9.2.
  [[nodiscard]] base::Task<Outcome<base::json::Object>> outcome_of(const Ulid& id);
  /// Runs a workflow, or goes on with a run, to its end: the answer of section 19. When
  /// the connection is lost it is sent again on a new one (with Reconnect::kForCalls);
  /// no step is done twice.
  [[nodiscard]] base::Task<Outcome<base::json::Object>> flow_run(FlowRun flow);
  /// How far a run of one's own is.
  [[nodiscard]] base::Task<Outcome<base::json::Object>> flow_get(const Ulid& run);
  /// Takes a run back.
  [[nodiscard]] base::Task<Outcome<base::json::Object>> flow_cancel(const Ulid& run);
  /// Any other operation of section 9.
  [[nodiscard]] base::Task<Outcome<base::json::Object>> call(session::Op op,
                                                             base::json::Object payload);
  /// Of the session in use, which another may replace (Reconnect::kForCalls);
  /// empty before connect() and after disconnect().
  [[nodiscard]] std::string session_id() const;
  /// Renews the keys of a session with records. Other calls wait.
  [[nodiscard]] base::Task<Outcome<void>> rekey();
  /// Ends the session in order and waits for all that belongs to it. Await it
  /// before the client is destroyed while its loop runs on.
  [[nodiscard]] base::Task<void> disconnect();

 private:
  struct State;
  explicit SecureClient(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace tool::client
