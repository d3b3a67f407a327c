#include "toolserver/session/session_state.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tool::session {
namespace {

constexpr std::array<std::pair<Op, std::string_view>, 24> kOps{{
    {Op::kHello, "session.hello"},
    {Op::kAuth, "session.auth"},
    {Op::kClose, "session.close"},
    {Op::kPing, "session.ping"},
    {Op::kRefresh, "session.refresh"},
    {Op::kRekey, "session.rekey"},
    {Op::kError, "session.error"},
    {Op::kCapList, "cap.list"},
    {Op::kCapGet, "cap.get"},
    {Op::kInvoke, "tool.invoke"},
    {Op::kOutcome, "tool.outcome"},
    {Op::kCancel, "tool.cancel"},
    {Op::kProgress, "tool.progress"},
    {Op::kChunk, "tool.chunk"},
    {Op::kFlowRun, "flow.run"},
    {Op::kFlowGet, "flow.get"},
    {Op::kFlowCancel, "flow.cancel"},
    {Op::kForward, "fed.forward"},
    {Op::kForwardCaps, "fed.caps"},
    {Op::kAuditHead, "admin.audit.head"},
    {Op::kSessionList, "admin.session.list"},
    {Op::kSessionClose, "admin.session.close"},
    {Op::kConsentList, "admin.consent.list"},
    {Op::kConsentRevoke, "admin.consent.revoke"},
}};

struct ServerRule {
  ServerState state;
  MessageType type;
  Op op;
  ServerState next;
};

using enum ServerState;
using enum MessageType;

// Section 5: what is accepted, and where it leads. The answer to a credential
// and the first record of a new epoch lead to READY without a message of their
// own, so they have no row.
constexpr auto kServerRules = std::to_array<ServerRule>({
    {kConnected, kReq, Op::kHello, kNegotiated}, {kNegotiated, kReq, Op::kAuth, kAuthenticating},
    {kNegotiated, kReq, Op::kClose, kClosed},    {kAuthenticating, kReq, Op::kClose, kClosed},
    {kReady, kReq, Op::kPing, kReady},           {kReady, kReq, Op::kRefresh, kReady},
    {kReady, kReq, Op::kCapList, kReady},        {kReady, kReq, Op::kCapGet, kReady},
    {kReady, kReq, Op::kInvoke, kReady},         {kReady, kReq, Op::kOutcome, kReady},
    {kReady, kReq, Op::kFlowRun, kReady},        {kReady, kReq, Op::kFlowGet, kReady},
    {kReady, kReq, Op::kFlowCancel, kReady},     {kReady, kReq, Op::kForward, kReady},
    {kReady, kReq, Op::kForwardCaps, kReady},    {kReady, kReq, Op::kAuditHead, kReady},
    {kReady, kReq, Op::kSessionList, kReady},    {kReady, kReq, Op::kSessionClose, kReady},
    {kReady, kReq, Op::kConsentList, kReady},    {kReady, kReq, Op::kConsentRevoke, kReady},
    {kReady, kCancel, Op::kCancel, kReady},      {kReady, kReq, Op::kRekey, kRekeying},
    {kReady, kReq, Op::kClose, kClosed},         {kDraining, kReq, Op::kPing, kDraining},
    {kDraining, kReq, Op::kClose, kClosed},      {kDraining, kCancel, Op::kCancel, kDraining},
});

constexpr const ServerRule* find_rule(ServerState state, MessageType type, Op op) {
  const auto* rule = std::ranges::find_if(kServerRules, [&](const ServerRule& row) {
    return row.state == state && row.type == type && row.op == op;
  });
  return rule == kServerRules.end() ? nullptr : rule;
}

}  // namespace

std::string_view name(ServerState state) {
  switch (state) {
    case kConnected: return "CONNECTED";
    case kNegotiated: return "NEGOTIATED";
    case kAuthenticating: return "AUTHENTICATING";
    case kReady: return "READY";
    case kRekeying: return "REKEYING";
    case kDraining: return "DRAINING";
    case kClosed: return "CLOSED";
    case kFailed: return "FAILED";
  }
  return "";
}

std::string_view name(ClientState state) {
  switch (state) {
    case ClientState::kIdle: return "IDLE";
    case ClientState::kHelloSent: return "HELLO_SENT";
    case ClientState::kAuthSent: return "AUTH_SENT";
    case ClientState::kReady: return "READY";
    case ClientState::kRekeying: return "REKEYING";
    case ClientState::kClosed: return "CLOSED";
    case ClientState::kFailed: return "FAILED";
  }
  return "";
}

Op op_of(std::string_view text) {
  const auto* found = std::ranges::find(kOps, text, &std::pair<Op, std::string_view>::second);
  return found == kOps.end() ? Op::kUnknown : found->first;
}

std::string_view name(Op op) {
  const auto* found = std::ranges::find(kOps, op, &std::pair<Op, std::string_view>::first);
  return found == kOps.end() ? std::string_view() : found->second;
}

ServerStep server_step(ServerState state, MessageType type, Op op, Suite suite) {
  if (state == kClosed || state == kFailed) return {Ruling::kDrop, state};
  if (state == kRekeying) state = kReady;
  if (op == Op::kRekey && state == kReady && !has_records(suite)) return {};
  if (const ServerRule* rule = find_rule(state, type, op)) return {Ruling::kAccept, rule->next};
  if (type == kReq && state == kReady && op == Op::kUnknown) return {Ruling::kUnknownOp, state};
  if (type == kReq && state == kDraining) return {Ruling::kBusy, state};
  return {};
}

Ruling client_ruling(ClientState state, MessageType type, Op op) {
  bool answer = type == kRes || type == kErr;
  switch (state) {
    case ClientState::kIdle: return Ruling::kRefuse;
    case ClientState::kHelloSent:
      return type == kErr || (type == kRes && op == Op::kHello) ? Ruling::kAccept : Ruling::kRefuse;
    case ClientState::kAuthSent:
      return type == kErr || (type == kRes && op == Op::kAuth) ? Ruling::kAccept : Ruling::kRefuse;
    case ClientState::kReady:
    case ClientState::kRekeying: {
      bool event = type == kEvt && (op == Op::kProgress || op == Op::kChunk);
      return answer || event ? Ruling::kAccept : Ruling::kRefuse;
    }
    case ClientState::kClosed:
    case ClientState::kFailed: return Ruling::kDrop;
  }
  return Ruling::kRefuse;
}

}  // namespace tool::session
