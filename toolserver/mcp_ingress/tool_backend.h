#pragma once

// Where the tools of a client's request are: behind the pipeline of this process,
// or behind that of a service it is connected to. Either way each call passes
// the whole of it.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.h"
#include "base/runtime/task.h"
#include "toolserver/mcp/message.h"
#include "toolserver/mcp/request_meta.h"
#include "toolserver/mcp/revision.h"
#include "toolserver/mcp_ingress/client_session.h"
#include "toolserver/mcp_ingress/client_side.h"
#include "toolserver/mcp_ingress/providers.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/invocation.h"
#include "toolserver/pipeline/consent_hook.h"

namespace tool::mcp_ingress {

/// Which tools a client has asked to be listed.
enum class ToolsWanted : std::uint8_t {
  kDefault,  ///< It said nothing.
  kAll,
  kSearch,  ///< Three that find, describe and call all others: see few_tools.h.
};
/// "all" or "search".
[[nodiscard]] std::optional<ToolsWanted> tools_wanted(std::string_view text);

/// A request with all that is known of who made it.
struct Call {
  mcp::Revision revision = mcp::kNewest;
  mcp::Request request;
  mcp::RequestMeta meta;
  Caller caller;
  std::string peer;           ///< Network address, without port.
  base::json::Object client;  ///< What the client can do.
  ToolsWanted wanted = ToolsWanted::kDefault;
  std::shared_ptr<ClientSession> session;  ///< Null: it has none.
  std::shared_ptr<ClientSide> side;        ///< Never null.
};

struct ToolCall {
  std::string name;
  base::json::Object arguments;
  std::optional<Inputs> inputs;
  Progress progress;
  std::shared_ptr<const Note> note;
  std::shared_ptr<pipeline::ConsentHook> asker;
};

/// The tools that a caller may know of, as they are when it asks, in an order that
/// stays. A copy is cheap.
struct ToolList {
  std::string etag;  ///< Equal for equal lists, and for no others.
  std::size_t size = 0;
  std::function<base::json::Object(std::size_t)> tool;  ///< One of them, as MCP lists it.
  /// The same as JSON text, where it is kept: as long as the list. May be empty.
  std::function<std::string_view(std::size_t)> text = {};
};

/// Safe to call from the loops that its user says.
class ToolBackend {
 public:
  virtual ~ToolBackend() = default;

  /// Whether a request that calls no tool may be answered now.
  /// Errors: E_RATE, E_BUSY.
  [[nodiscard]] virtual Outcome<void> admit(const Call& call) = 0;
  [[nodiscard]] virtual base::Task<Outcome<ToolList>> list(std::shared_ptr<const Call> call) = 0;
  /// Errors: those of pipeline::Pipeline::run().
  [[nodiscard]] virtual base::Task<Outcome<ToolResult>> call(std::shared_ptr<const Call> call,
                                                             ToolCall tool) = 0;
  /// Leaves a line in the audit trail about what is no call of a tool.
  /// Errors: E_BUSY  it cannot be recorded, so nothing may happen.
  [[nodiscard]] virtual Outcome<void> record(const Call& call, std::string_view what,
                                             std::string_view name) = 0;
  /// Whether the list of tools can change while clients are told.
  [[nodiscard]] virtual bool tells_changes() const = 0;
  /// The scope that a call of the tool needs.
  [[nodiscard]] virtual base::Task<std::string> scope_of(std::shared_ptr<const Call> call,
                                                         std::string name,
                                                         base::json::Object arguments) = 0;
};

}  // namespace tool::mcp_ingress
