#pragma once

// What a session does with a message depends on where it stands. The rules are
// data: one table for each role, read by one function, so that a combination
// nobody thought of is a refusal, and a test can walk all of them.
// Source: docs/wire-3.0.md, section 5.

#include <cstdint>
#include <optional>
#include <string_view>

#include "toolserver/model/envelope.h"
#include "toolserver/session/suites.h"

namespace tool::session {

enum class ServerState : std::uint8_t {
  kConnected,
  kNegotiated,
  kAuthenticating,
  kReady,
  kRekeying,
  kDraining,
  kClosed,
  kFailed,
};
[[nodiscard]] std::string_view name(ServerState state);

enum class ClientState : std::uint8_t {
  kIdle,
  kHelloSent,
  kAuthSent,
  kReady,
  kRekeying,
  kClosed,
  kFailed,
};
[[nodiscard]] std::string_view name(ClientState state);

/// Every operation of the wire, and kUnknown for any other.
enum class Op : std::uint8_t {
  kHello,          ///< session.hello
  kAuth,           ///< session.auth
  kClose,          ///< session.close
  kPing,           ///< session.ping
  kRefresh,        ///< session.refresh
  kRekey,          ///< session.rekey
  kError,          ///< session.error: an err of a request that is not known.
  kCapList,        ///< cap.list
  kCapGet,         ///< cap.get
  kInvoke,         ///< tool.invoke
  kOutcome,        ///< tool.outcome
  kCancel,         ///< tool.cancel
  kProgress,       ///< tool.progress
  kChunk,          ///< tool.chunk
  kFlowRun,        ///< flow.run
  kFlowGet,        ///< flow.get
  kFlowCancel,     ///< flow.cancel
  kForward,        ///< fed.forward
  kForwardCaps,    ///< fed.caps
  kAuditHead,      ///< admin.audit.head
  kSessionList,    ///< admin.session.list
  kSessionClose,   ///< admin.session.close
  kConsentList,    ///< admin.consent.list
  kConsentRevoke,  ///< admin.consent.revoke
  kUnknown,
};
[[nodiscard]] Op op_of(std::string_view text);
/// "tool.invoke"; empty for kUnknown.
[[nodiscard]] std::string_view name(Op op);

/// What to do with a message.
enum class Ruling : std::uint8_t {
  kAccept,     ///< Handle it.
  kUnknownOp,  ///< E_OP, and stay.
  kBusy,       ///< E_BUSY with retry_ms, and stay.
  kRefuse,     ///< E_STATE; the session fails.
  kDrop,       ///< Nothing at all.
};

struct ServerStep {
  Ruling ruling = Ruling::kRefuse;
  ServerState next = ServerState::kFailed;  ///< Once the message has been handled.
};
/// The matrix of section 5. In kRekeying the caller has already opened a record
/// of the new epoch, so the rules of kReady hold.
[[nodiscard]] ServerStep server_step(ServerState state, MessageType type, Op op, Suite suite);

/// Whether the client takes a message of this type and op; whether it answers
/// one of its requests is looked at after that.
[[nodiscard]] Ruling client_ruling(ClientState state, MessageType type, Op op);

}  // namespace tool::session
