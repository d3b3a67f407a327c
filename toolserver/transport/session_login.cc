// Who the client is: its credential, at auth and at each refresh; whether it
// still stands; and by what the session may be followed.

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "toolserver/session/credentials.h"
#include "toolserver/transport/session_run_parts.h"

namespace tool::transport {
namespace {

constexpr std::chrono::seconds kVerifyTime{10};
// For the close handshake of one who is known. A stranger has less, as the
// endpoint sets it: a close must not give it as long again as it had.
constexpr std::chrono::seconds kCloseTime{5};

bool is_of(const Followed& session, const Principal& principal) {
  return session.subject == principal.subject && session.issuer == principal.issuer;
}

}  // namespace

// Cancelled with the connection, so that one who left holds no place while
// somebody far away is asked about him.
void Run::perform(session::VerifyCredential action) {
  verification_ = std::make_shared<asio::cancellation_signal>();
  tasks_.spawn(verify(std::move(action)), verification_);
}

base::Task<void> Run::verify(session::VerifyCredential action) {
  // A cancellation is an answer like any other.
  co_await asio::this_coro::throw_if_cancelled(false);
  base::RequestContext context;
  context.deadline = std::chrono::steady_clock::now() + kVerifyTime;
  CredentialCheck::Presented presented{
      .method = action.method, .credential = std::move(action.credential), .th1 = action.th1};
  presented.proved.key = std::move(action.holder);
  auto former = take_former(presented);
  if (const auto& certificate = connection_->peer_certificate()) {
    presented.proved.certificate = certificate->thumbprint;
    presented.certificate_subject = certificate->subject;
    presented.certificate_end = certificate->expires_at;
  }
  Outcome<Principal> principal = Principal{};
  if (former) {
    principal = co_await services_.credentials().verify(context, presented);
  } else {
    principal = std::move(former).error();
  }
  if (ending_) co_return;
  bool follows = principal && former->has_value();
  if (follows && !is_of(**former, *principal)) {
    principal = session::wrong_credential("a session of another subject");
  }
  if (principal && action.purpose == session::VerifyCredential::Purpose::kAuth) {
    if (auto place = services_.counts.enter(*principal)) {
      place_ = std::move(*place);
      connection_->vouch();
      connection_->set_close_time(kCloseTime);
    } else {
      principal = std::move(place).error();
    }
  }
  if (!principal) {
    if (may_log()) {
      log_.info("credential refused", {{"code", name(principal.error().code)},
                                       {"method", name(action.method)},
                                       {"peer", connection_->peer()},
                                       {"detail", principal.error().detail}});
    }
    is_login_refused_ = action.purpose == session::VerifyCredential::Purpose::kAuth;
    record("login_refused", name(principal.error().code), {{"method", name(action.method)}});
    perform(session_.on_refused(std::move(principal).error()));
    co_return;
  }
  std::string subject = principal->subject, token_id = principal->token_id;
  perform(session_.on_verified(std::move(*principal),
                               follows ? std::optional((*former)->opened) : std::nullopt));
  // A refresh that was refused leaves the session with the credential it had.
  const auto& in_force = session_.principal();
  if (!in_force || in_force->subject != subject || in_force->token_id != token_id) co_return;
  caller_ = std::make_shared<const Caller>(
      Caller{*session_.principal(), std::string(session_.id().text()), connection_->peer()});
  enter(presented, follows ? std::string_view((*former)->id) : std::string_view());
}

// The session of a session token, whose connection ends here if it has not yet;
// nothing with another method. What opened that session then stands in `shown`,
// to be held against the rules of now.
Outcome<std::optional<Followed>> Run::take_former(CredentialCheck::Presented& shown) {
  if (shown.method != Method::kSession) return std::optional<Followed>();
  base::WallTime now = services_.clock.now();
  auto token = services_.context->tokens().read(shown.credential.reveal(), now);
  if (!token) return std::move(token).error();
  if (!base::crypto::equal(token->holder, shown.proved.key)) {
    return session::wrong_credential("a session token with the proof of another key");
  }
  auto former = services_.sessions.reconnections().take(*token, now);
  if (!former) {
    return session::wrong_credential("a session token that was taken, or of an ended session");
  }
  former->leave();
  shown = former->shown;
  // That of this connection takes its place.
  shown.proved.certificate.clear();
  shown.certificate_subject.clear();
  shown.certificate_end = {};
  return former;
}

// After each change of its token, which a refresh without a credential is too.
void Run::keep_for_reconnection() {
  if (!shown_ || session_.session_key().empty() || kept_ == session_.token_id()) return;
  // A node shows its credential anew, which is for one connection in any case.
  if (shown_->method == Method::kNode) return;
  kept_ = session_.token_id();
  auto leave = [loop = timer_.get_executor(), weak = std::weak_ptr<Run*>(self_)] {
    asio::post(loop, [weak] {
      if (auto run = weak.lock()) (**run).connection_->abort();
    });
  };
  const Principal& principal = caller_->principal;
  services_.sessions.reconnections().keep({.id = caller_->session_id,
                                           .subject = principal.subject,
                                           .issuer = principal.issuer,
                                           .key = session_.session_key(),
                                           .token_id = std::string(session_.token_id().text()),
                                           .until = session_.token_end(),
                                           .opened = session_.opened_at(),
                                           .shown = *shown_,
                                           .leave = std::move(leave)},
                                          services_.clock.now());
}

void Run::enter(const CredentialCheck::Presented& shown, std::string_view follows) {
  shown_ = shown;
  kept_ = {};
  keep_for_reconnection();
  const Principal& principal = caller_->principal;
  if (entry_) {
    entry_->set_token_id(principal.token_id);
    return;
  }
  OpenSession session{caller_->session_id,  principal.subject, principal.issuer,
                      principal.token_id,   principal.method,  caller_->peer,
                      services_.clock.now()};
  entry_.emplace(services_.sessions, std::move(session), make_control());
  services_.metrics.opened.add();
  log_.info("session ready", {{"subject", principal.subject},
                              {"method", name(principal.method)},
                              {"token", principal.token_id},
                              {"peer", caller_->peer}});
  base::json::Object details{{"method", name(principal.method)}};
  if (!follows.empty()) details["follows"] = follows;
  record("session_opened", "ok", std::move(details));
}

SessionControl Run::make_control() {
  auto on_loop = [loop = timer_.get_executor(), weak = std::weak_ptr<Run*>(self_)](auto act) {
    asio::post(loop, [weak, act] {
      if (auto run = weak.lock()) act(**run);
    });
  };
  return {.end =
              [on_loop](Code code) {
                on_loop([code](Run& run) {
                  run.perform(run.session_.end(code));
                  if (run.ending_) run.cancel_calls();
                });
              },
          .recheck = [on_loop] { on_loop([](Run& run) { run.start_recheck(); }); }};
}

void Run::start_recheck() {
  if ((ending_ && calls_.empty()) || !shown_) return;
  rechecking_ = std::make_shared<asio::cancellation_signal>();
  tasks_.spawn(recheck(), rechecking_);
}

// Ends the session when its credential would not open it any more, or would open
// less. One past its time needs no end: its calls are refused already. Where the
// provider cannot be asked, the next refresh decides.
base::Task<void> Run::recheck() {
  co_await asio::this_coro::throw_if_cancelled(false);
  base::RequestContext context;
  context.deadline = std::chrono::steady_clock::now() + kVerifyTime;
  auto principal = co_await services_.credentials().verify(context, *shown_);
  bool taken_back = principal ? !caller_->principal.scopes.within(principal->scopes) ||
                                    !principal->details.admits(caller_->principal.details)
                              : principal.error().code == Code::kAuth;
  if (!taken_back) co_return;
  perform(session_.end(Code::kAuth));
  if (ending_) cancel_calls();
}

}  // namespace tool::transport
