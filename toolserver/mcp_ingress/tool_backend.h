#pragma once

// Where the tools of a client's request are: behind the pipeline of this process,
// or behind that of a service it is connected to. Either way each call passes
// the whole of it.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
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
  std::string id = {};  ///< A ULID by which the call is found again; empty: one is made.
  /// How long it may take where nobody waits for it on a connection.
  std::optional<std::chrono::milliseconds> time = {};
  /// What `name` is: of a prompt the name as listed, of a resource its URI, whose
  /// arguments are {"uri": the server's own}.
  Offer offer = Offer::kTool;
};

/// What foreign servers offer beside tools.
enum class OfferList : std::uint8_t { kPrompts, kResources, kTemplates };

/// A call of the caller's that is not under way as a task here, as its record has it.
struct KeptCall {
  enum class State : std::uint8_t {
    kRuns,       ///< Not as a task.
    kEnded,      ///< See `outcome`.
    kGoesOn,     ///< Called again by its id it goes on, or tells how it ended.
    kTakenBack,  ///< Its owner had cancelled it.
  };
  State state = State::kRuns;
  std::optional<Outcome<ToolResult>> outcome = {};
  std::string tool = {};              ///< Of kGoesOn: what is called,
  base::json::Object arguments = {};  ///< and with what.
  base::WallTime began{};
  base::WallTime changed{};
  std::chrono::milliseconds life{};  ///< How long it is kept; 0: nobody says.
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
  /// Prompts, resources or templates of foreign servers that the caller may get, as MCP
  /// lists them, in an order that stays.
  [[nodiscard]] virtual std::vector<base::json::Object> offered(const Call& /*call*/,
                                                                OfferList /*list*/) const {
    return {};
  }
  /// Also gets a prompt and reads a resource of a foreign server, by ToolCall::offer.
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

  /// Whether a call that needs this scope has a record of its own, which outlives the
  /// process and from which the call can go on.
  [[nodiscard]] virtual bool is_recorded(const std::string& /*scope*/) const { return false; }
  /// How long such a record is kept.
  [[nodiscard]] virtual std::chrono::milliseconds record_life() const { return {}; }
  /// What a record has of the caller's call with this id, where the caller may still make
  /// it. Nothing: there is none for this caller.
  /// Errors: E_INTERNAL  the record cannot be read.
  [[nodiscard]] virtual base::Task<Outcome<std::optional<KeptCall>>> find_call(
      std::shared_ptr<const Call> /*call*/, std::string /*id*/) {
    co_return std::optional<KeptCall>();
  }
  /// Takes a recorded call back: here, or by whoever is at it.
  /// Errors: E_SHAPE  there is none; E_BUSY, E_EXPIRED, E_CANCELLED  it waits.
  enum class TakenBack : std::uint8_t { kIs, kUnderWay };
  [[nodiscard]] virtual base::Task<Outcome<TakenBack>> take_back(
      std::shared_ptr<const Call> /*call*/, std::string /*id*/) {
    co_return refuse(Code::kShape, "there is no such call");
  }
};

}  // namespace tool::mcp_ingress
