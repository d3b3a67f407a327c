// Who the client is, from hello to the last refresh, and with which keys.

#include <algorithm>
#include <utility>

#include "base/crypto/encoding.h"
#include "toolserver/session/credentials.h"
#include "toolserver/session/server_session.h"
#include "toolserver/session/server_session_parts.h"
#include "toolserver/session/transcript.h"

namespace tool::session {
namespace {

constexpr std::uint32_t kLastEpoch = 0xFFFF;
// A refresh may cost a signature of RSA: so many at once, then one in this time.
constexpr std::uint32_t kRefreshes = 5;
constexpr std::chrono::seconds kRefreshInterval{10};

}  // namespace

ServerActions ServerSession::on_hello(const Envelope& hello, std::string_view text) {
  auto welcomed = handshake_.on_hello(text, hello);
  if (!welcomed) return refuse_message(origin_of(hello), welcomed.error());
  layer_ = std::move(welcomed->layer);
  state_ = ServerState::kNegotiated;
  step_by_ = context_->now() + context_->config().times.auth;
  return only(Send{Frame{FrameKind::kText, std::move(welcomed->text)}});
}

ServerActions ServerSession::on_auth(Envelope auth) {
  Origin origin = origin_of(auth);
  auto presented = handshake_.on_auth(std::move(auth), layer_->keys());
  if (!presented) return refuse_message(origin, presented.error());
  state_ = ServerState::kAuthenticating;
  // The verification may ask others, and must end too.
  step_by_ = context_->now() + context_->config().times.auth;
  auth_ = std::move(origin);
  session_key_ = presented->session_key;
  return only(VerifyCredential{.purpose = VerifyCredential::Purpose::kAuth,
                               .method = presented->method,
                               .credential = std::move(presented->credential),
                               .th1 = handshake_.th1(),
                               .holder = std::move(presented->holder)});
}

ServerActions ServerSession::on_verified(Principal principal,
                                         std::optional<base::WallTime> opened) {
  if (state_ == ServerState::kAuthenticating) {
    // What follows a session ends when that would have ended.
    opened_at_ = std::min(opened_at_, opened.value_or(opened_at_));
    return enter_ready(std::move(principal));
  }
  if (state_ == ServerState::kClosed || state_ == ServerState::kFailed || !refresh_) return {};
  Origin origin = *std::exchange(refresh_, std::nullopt);
  if (principal.subject != principal_->subject || principal.issuer != principal_->issuer) {
    return refuse_message(origin, wrong_credential("a refresh for another subject"));
  }
  // Or a token that somebody stole could follow one that was bound.
  if (!principal_->bound_to.empty() && principal.bound_to != principal_->bound_to) {
    return refuse_message(origin, wrong_credential("a refresh of a bound session by another key"));
  }
  return grant_refresh(origin, std::move(principal));
}

ServerActions ServerSession::on_refused(Fault fault) {
  if (state_ == ServerState::kAuthenticating) return refuse_message(*auth_, fault);
  if (state_ == ServerState::kClosed || state_ == ServerState::kFailed || !refresh_) return {};
  return refuse_message(*std::exchange(refresh_, std::nullopt), fault);
}

base::WallTime ServerSession::token_end(const Principal& principal) const {
  const SessionTimes& times = context_->config().times;
  return std::min(
      {context_->now() + times.token, opened_at_ + times.session, principal.expires_at});
}

Outcome<std::string> ServerSession::mint_token(const Principal& principal, base::WallTime expires) {
  if (expires <= context_->now()) {
    return refuse(Code::kExpired, "the credential is out of its time");
  }
  Ulid id = Ulid::make(context_->now(), context_->random());
  auto token = context_->tokens().mint({.subject = principal.subject,
                                        .scopes = principal.scopes,
                                        .details = principal.details,
                                        .session = id_,
                                        .mode = context_->config().mode,
                                        .th1 = handshake_.th1(),
                                        .expires_at = expires,
                                        .id = id,
                                        .holder = session_key_},
                                       context_->now(), context_->random());
  if (!token)
    return refuse(Code::kLimit, "the credential's scopes and details are too long for a token");
  token_id_ = id;
  return std::move(*token);
}

ServerActions ServerSession::enter_ready(Principal principal) {
  base::WallTime expires = token_end(principal);
  auto token = mint_token(principal, expires);
  if (!token) return refuse_message(*auth_, token.error());
  Ready ready;
  ready.session_id = id_;
  ready.session_token = std::move(*token);
  ready.subject = principal.subject;
  ready.issuer = principal.issuer;
  ready.scopes = principal.scopes.list();
  ready.expires_at = wire_time(expires);
  Envelope message = answer(MessageType::kRes, auth_->id, auth_->op, write_payload(ready));
  auto th2 = handshake_.finish(message, layer_->keys());
  if (!th2) return refuse_message(*auth_, th2.error());
  auto frame = layer_->write(message);
  if (!frame) return refuse_message(*auth_, frame.error());
  th2_ = *th2;
  layer_->enter_ready(th2_);
  state_ = ServerState::kReady;
  principal_ = std::move(principal);
  token_end_ = expires;
  rekeyed_at_ = context_->now();
  return only(Send{std::move(*frame)});
}

ServerActions ServerSession::on_refresh(const Envelope& request) {
  if (refresh_) {
    return refuse_message(origin_of(request), busy("a refresh is under way", kRetryInFlight));
  }
  if (request.payload.empty()) {
    if (auto taken = take_refresh(); !taken)
      return refuse_message(origin_of(request), taken.error());
    return grant_refresh(origin_of(request), *principal_);
  }
  auto presented = handshake_.on_refresh(request.payload);
  if (!presented) return refuse_message(origin_of(request), presented.error());
  if (auto taken = take_refresh(); !taken) return refuse_message(origin_of(request), taken.error());
  refresh_ = origin_of(request);
  return only(VerifyCredential{.purpose = VerifyCredential::Purpose::kRefresh,
                               .method = presented->method,
                               .credential = std::move(presented->credential),
                               .th1 = handshake_.th1(),
                               .holder = std::move(presented->holder)});
}

Outcome<void> ServerSession::take_refresh() {
  base::WallTime now = context_->now();
  // Tokens that live for seconds are refreshed as often.
  const base::WallTime::duration token = context_->config().times.token;
  const auto interval = std::min<base::WallTime::duration>(kRefreshInterval, token / 4);
  if (refreshes_ == 0 || now < refreshed_at_) refreshed_at_ = now;
  auto forgotten = static_cast<std::uint32_t>(
      std::min<std::int64_t>((now - refreshed_at_) / interval, refreshes_));
  refreshes_ -= forgotten;
  refreshed_at_ += forgotten * interval;
  if (refreshes_ >= kRefreshes) {
    Fault fault = refuse(Code::kRate, "too many refreshes");
    fault.retry_after =
        std::chrono::ceil<std::chrono::milliseconds>(refreshed_at_ + interval - now);
    return fault;
  }
  if (refreshes_++ == 0) refreshed_at_ = now;
  return {};
}

ServerActions ServerSession::grant_refresh(const Origin& origin, Principal principal) {
  base::WallTime expires = token_end(principal);
  auto token = mint_token(principal, expires);
  if (!token) return refuse_message(origin, token.error());
  auto frame = protect(answer(
      MessageType::kRes, origin.id, origin.op,
      {{"session_token", *token}, {"expires_at", wire_time(expires).time_since_epoch().count()}}));
  if (!frame) return refuse_message(origin, frame.error());
  principal_ = std::move(principal);
  token_end_ = expires;
  return only(Send{std::move(*frame)});
}

// The answer is the last record of the old epoch, in our direction as the
// request was in theirs.
ServerActions ServerSession::on_rekey(const Envelope& request) {
  const SuiteTraits& suite = traits(layer_->suite());
  auto share_c = read_b64(request.payload, "eph", suite.share_bytes);
  if (!share_c) return refuse_message(origin_of(request), share_c.error());
  if (layer_->epoch() == kLastEpoch) {
    return refuse_message(origin_of(request), refuse(Code::kLimit, "no more epochs"));
  }
  auto key = base::crypto::EphemeralKey::generate(suite.group, context_->random());
  std::string share_s = key.public_share();
  auto dh = std::move(key).agree(*share_c);
  if (!dh) {
    return refuse_message(origin_of(request),
                          refuse(Code::kShape, "p.eph: not a share of the suite's group"));
  }
  auto actions = reply(request, {{"eph", base::crypto::to_base64url(share_s)}});
  layer_->rekey(transcript_rekey(th2_, layer_->epoch() + 1, *share_c, share_s), *dh);
  state_ = ServerState::kRekeying;
  rekeyed_at_ = context_->now();
  return actions;
}

}  // namespace tool::session
