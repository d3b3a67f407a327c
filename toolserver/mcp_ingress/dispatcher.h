#pragma once

// One request of a client, from its method to its answer, the same over HTTP and
// standard input. Which method exists in which era stands in one table in
// dispatcher.cc.
// Source: Model Context Protocol 2026-07-28 and 2025-11-25, "Server features".

#include <chrono>
#include <expected>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json/json.h"
#include "base/runtime/task.h"
#include "toolserver/mcp/message.h"
#include "toolserver/mcp/revision.h"
#include "toolserver/mcp_ingress/providers.h"
#include "toolserver/mcp_ingress/request_state.h"
#include "toolserver/mcp_ingress/tool_backend.h"

namespace tool::mcp_ingress {

struct DispatchOptions {
  std::string server_name = "securetool";
  std::string server_version;
  mcp::Revision minimum = mcp::Revision::k2025_03_26;  ///< Older ones are refused.
  bool elicit_consent = false;  ///< Consent may be given by the client's own user.
  /// Namespaces of the foreign servers whose prompts and resources are offered.
  std::set<std::string, std::less<>> prompt_servers = {};
  std::set<std::string, std::less<>> resource_servers = {};
};

/// A member of a result that is JSON text already, so that nobody has to build it
/// and write it anew for each who asks.
struct WrittenMember {
  std::string name;  ///< One that the result has not.
  std::string json;
};

struct Reply {
  std::expected<base::json::Object, mcp::RpcError> body;
  std::optional<WrittenMember> written = {};  ///< Of a body that is a result.
  unsigned status = 200;                      ///< Of HTTP, where the answer is not a stream.
  std::string wanted_scope;                   ///< With status 403: what would have been enough.
};

/// An error of the protocol as a reply.
[[nodiscard]] Reply error_reply(unsigned status, int code, std::string message,
                                std::optional<base::json::Value> data = std::nullopt);
/// A refusal as docs/tools/mcp.md, "Errors", has it.
[[nodiscard]] Reply fault_reply(const Fault& fault);
/// The message that carries it.
[[nodiscard]] std::string write_reply(const mcp::RequestId& id, Reply reply);

/// The work, whose exception becomes an error of the protocol; what is cancelled ends
/// with a value.
[[nodiscard]] base::Task<Reply> without_exception(base::Task<Reply> work);

/// What a client wants to hear of on a stream of its own.
struct ListenFilter {
  bool tools = false;
  bool prompts = false;
  bool resources = false;
  std::vector<std::string> uris;
  std::vector<std::string> tasks = {};  ///< By their ids.

  [[nodiscard]] base::json::Object to_json() const;
};

struct FoundTask;
class LiveTask;
struct KeptCall;
struct Round;
struct TaskHost;
struct ToolWork;

/// Safe to use from any event loop; so is what it is made of, or belongs to the
/// one loop that uses it.
class Dispatcher {
 public:
  /// All but the options and the providers outlive it. Without a host there are no
  /// tasks.
  Dispatcher(DispatchOptions options, ToolBackend& tools, Providers providers,
             RequestStates& states, const TaskHost* host = nullptr)
      : options_(std::move(options)),
        tools_(tools),
        providers_(std::move(providers)),
        states_(states),
        host_(host) {}

  /// Answers a request. Cancelled when the client cancels it or is gone.
  [[nodiscard]] base::Task<Reply> run(std::shared_ptr<const Call> call) const;

  /// What an `initialize` asks for. Errors: a reply.
  struct Initialized {
    base::json::Object result;
    mcp::Revision revision;
    base::json::Object capabilities;
  };
  [[nodiscard]] std::expected<Initialized, Reply> initialize(const mcp::Request& request) const;

  /// The revision that `text` names, where it is served.
  /// Errors: -32022 with the list, as a reply with status 400.
  [[nodiscard]] std::expected<mcp::Revision, Reply> served(const std::string& text) const;
  [[nodiscard]] bool serves_sessions() const {
    return options_.minimum <= mcp::kNewestWithSessions;
  }

  /// The part of what `subscriptions/listen` asks for that there is. `client` is what the
  /// client can do. Errors: -32602; -32021  it asks for tasks, and does not say that it
  /// knows them.
  [[nodiscard]] std::expected<ListenFilter, Reply> listen_filter(
      const base::json::Object& params, const Principal& caller,
      const base::json::Object& client) const;
  /// What a listener is told of a task; nothing: it has none of that id any more.
  [[nodiscard]] std::optional<mcp::Notification> task_news(const Principal& caller,
                                                           const std::string& id) const;
  /// The result of a listening that the server ends.
  [[nodiscard]] base::json::Object listen_end(const mcp::RequestId& id) const;

 private:
  using Handler = base::Task<Reply> (Dispatcher::*)(std::shared_ptr<const Call>) const;
  struct Row;
  [[nodiscard]] static const Row* row_of(std::string_view method);

  base::Task<Reply> discover(std::shared_ptr<const Call> call) const;
  base::Task<Reply> ping(std::shared_ptr<const Call> call) const;
  base::Task<Reply> set_level(std::shared_ptr<const Call> call) const;
  base::Task<Reply> list_tools(std::shared_ptr<const Call> call) const;
  base::Task<Reply> call_tool(std::shared_ptr<const Call> call) const;
  base::Task<Reply> list_resources(std::shared_ptr<const Call> call) const;
  base::Task<Reply> list_templates(std::shared_ptr<const Call> call) const;
  base::Task<Reply> read_resource(std::shared_ptr<const Call> call) const;
  base::Task<Reply> subscribe(std::shared_ptr<const Call> call) const;
  base::Task<Reply> unsubscribe(std::shared_ptr<const Call> call) const;
  base::Task<Reply> list_prompts(std::shared_ptr<const Call> call) const;
  base::Task<Reply> get_prompt(std::shared_ptr<const Call> call) const;
  base::Task<Reply> complete(std::shared_ptr<const Call> call) const;
  base::Task<Reply> get_task(std::shared_ptr<const Call> call) const;
  base::Task<Reply> update_task(std::shared_ptr<const Call> call) const;
  base::Task<Reply> cancel_task(std::shared_ptr<const Call> call) const;

  [[nodiscard]] std::expected<Round, Reply> open_round(const Call& call, std::string name,
                                                       std::string arguments_digest) const;
  [[nodiscard]] Reply carry_on(const Call& call, const Round& round,
                               const InputNeeded& needed) const;
  [[nodiscard]] std::expected<std::shared_ptr<ToolWork>, Reply> tool_work(const Call& call) const;
  [[nodiscard]] base::Task<Reply> play(std::shared_ptr<const Call> call,
                                       std::shared_ptr<ToolWork> work) const;
  [[nodiscard]] base::Task<Reply> refusal_of(std::shared_ptr<const Call> call, Fault fault,
                                             std::shared_ptr<const ToolWork> work) const;
  [[nodiscard]] base::Task<std::optional<Reply>> call_as_task(
      std::shared_ptr<const Call> call) const;
  [[nodiscard]] base::Task<Reply> task_work(std::shared_ptr<const Call> call,
                                            const std::shared_ptr<LiveTask>& task) const;
  [[nodiscard]] base::Task<std::shared_ptr<LiveTask>> go_on(std::shared_ptr<const Call> call,
                                                            std::string id, KeptCall kept) const;
  [[nodiscard]] base::Task<std::expected<FoundTask, Reply>> find_task(
      std::shared_ptr<const Call> call) const;
  [[nodiscard]] bool offers_tasks() const;
  [[nodiscard]] bool offers_resources() const {
    return providers_.resources != nullptr || !options_.resource_servers.empty();
  }
  [[nodiscard]] bool offers_prompts() const {
    return providers_.prompts != nullptr || !options_.prompt_servers.empty();
  }
  // Of bridged.cc: what is asked of a foreign server.
  [[nodiscard]] bool is_bridged(const Call& call) const;
  [[nodiscard]] std::expected<std::shared_ptr<ToolWork>, Reply> bridged_work(
      const Call& call) const;
  [[nodiscard]] base::Task<Reply> play_bridged(std::shared_ptr<const Call> call) const;
  [[nodiscard]] base::json::Object capabilities(mcp::Revision revision) const;
  [[nodiscard]] base::json::Object server_info() const;
  [[nodiscard]] std::vector<std::string> served_names() const;
  [[nodiscard]] Reply finish(const Call& call, Reply reply) const;

  const DispatchOptions options_;
  ToolBackend& tools_;
  const Providers providers_;
  RequestStates& states_;
  const TaskHost* const host_;
};

}  // namespace tool::mcp_ingress
