#pragma once

// The revisions of the Model Context Protocol and what they call things. There
// are two eras: up to 2025-11-25 a client opens a session with `initialize`;
// since 2026-07-28 each request says for itself who asks and by which revision.
// Source: Model Context Protocol, "Versioning", of each revision.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tool::mcp {

/// In the order of their dates, so that they compare.
enum class Revision : std::uint8_t { k2025_03_26, k2025_06_18, k2025_11_25, k2026_07_28 };

inline constexpr std::array kRevisions{Revision::k2025_03_26, Revision::k2025_06_18,
                                       Revision::k2025_11_25, Revision::k2026_07_28};
inline constexpr Revision kNewest = Revision::k2026_07_28;
/// The newest with a handshake.
inline constexpr Revision kNewestWithSessions = Revision::k2025_11_25;

/// "2026-07-28".
[[nodiscard]] std::string_view name(Revision revision);
/// Nothing for one that is not known here.
[[nodiscard]] std::optional<Revision> revision_of(std::string_view text);
/// Whether each request stands for itself: no `initialize`, no sessions.
[[nodiscard]] constexpr bool is_stateless(Revision revision) {
  return revision >= Revision::k2026_07_28;
}

namespace method {
inline constexpr std::string_view kInitialize = "initialize";
inline constexpr std::string_view kInitialized = "notifications/initialized";
inline constexpr std::string_view kDiscover = "server/discover";
inline constexpr std::string_view kPing = "ping";
inline constexpr std::string_view kListTools = "tools/list";
inline constexpr std::string_view kCallTool = "tools/call";
inline constexpr std::string_view kListResources = "resources/list";
inline constexpr std::string_view kListTemplates = "resources/templates/list";
inline constexpr std::string_view kReadResource = "resources/read";
inline constexpr std::string_view kSubscribe = "resources/subscribe";
inline constexpr std::string_view kUnsubscribe = "resources/unsubscribe";
inline constexpr std::string_view kListPrompts = "prompts/list";
inline constexpr std::string_view kGetPrompt = "prompts/get";
inline constexpr std::string_view kComplete = "completion/complete";
inline constexpr std::string_view kSetLevel = "logging/setLevel";
inline constexpr std::string_view kListen = "subscriptions/listen";
inline constexpr std::string_view kGetTask = "tasks/get";
inline constexpr std::string_view kUpdateTask = "tasks/update";
inline constexpr std::string_view kCancelTask = "tasks/cancel";
inline constexpr std::string_view kElicit = "elicitation/create";
inline constexpr std::string_view kSample = "sampling/createMessage";
inline constexpr std::string_view kListRoots = "roots/list";
inline constexpr std::string_view kCancelled = "notifications/cancelled";
inline constexpr std::string_view kProgress = "notifications/progress";
inline constexpr std::string_view kLog = "notifications/message";
inline constexpr std::string_view kToolsChanged = "notifications/tools/list_changed";
inline constexpr std::string_view kPromptsChanged = "notifications/prompts/list_changed";
inline constexpr std::string_view kResourcesChanged = "notifications/resources/list_changed";
inline constexpr std::string_view kTaskChanged = "notifications/tasks";
inline constexpr std::string_view kResourceUpdated = "notifications/resources/updated";
inline constexpr std::string_view kAcknowledged = "notifications/subscriptions/acknowledged";
}  // namespace method

/// Members of `_meta`.
namespace meta {
inline constexpr std::string_view kVersion = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view kClientInfo = "io.modelcontextprotocol/clientInfo";
inline constexpr std::string_view kClientCapabilities =
    "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view kServerInfo = "io.modelcontextprotocol/serverInfo";
inline constexpr std::string_view kLogLevel = "io.modelcontextprotocol/logLevel";
inline constexpr std::string_view kSubscriptionId = "io.modelcontextprotocol/subscriptionId";
inline constexpr std::string_view kProgressToken = "progressToken";
/// Ours: docs/tools/mcp.md.
inline constexpr std::string_view kIdempotencyKey = "securetool/idempotencyKey";
}  // namespace meta

/// Codes of errors. Sources: JSON-RPC 2.0, section 5.1; MCP 2026-07-28.
namespace code {
inline constexpr int kParse = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kNoMethod = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternal = -32603;
inline constexpr int kRefused = -32000;           ///< A reason of the server's own.
inline constexpr int kResourceNotFound = -32002;  ///< Before 2026-07-28.
inline constexpr int kHeaderMismatch = -32020;
inline constexpr int kMissingCapability = -32021;
inline constexpr int kUnsupportedVersion = -32022;
}  // namespace code

}  // namespace tool::mcp
