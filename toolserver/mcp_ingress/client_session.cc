#include "toolserver/mcp_ingress/client_session.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/crypto/encoding.h"

namespace tool::mcp_ingress {
namespace {

std::string random_id(base::Random& random) {
  std::array<char, 24> bytes;
  random.fill(std::as_writable_bytes(std::span(bytes)));
  return base::crypto::to_base64url(std::string_view(bytes.data(), bytes.size()));
}

}  // namespace

Outcome<void> ClientSession::subscribe(const std::string& uri) {
  std::lock_guard held(mutex_);
  if (subscriptions_.size() >= kMostSubscriptions && !subscriptions_.contains(uri)) {
    return refuse(Code::kLimit, "too many subscriptions");
  }
  subscriptions_.insert(uri);
  return {};
}

void ClientSession::unsubscribe(const std::string& uri) {
  std::lock_guard held(mutex_);
  subscriptions_.erase(uri);
}

bool ClientSession::is_subscribed(const std::string& uri) const {
  std::lock_guard held(mutex_);
  return subscriptions_.contains(uri);
}

Outcome<mcp::RequestId> ClientSession::expect(Answered answered) {
  std::lock_guard held(mutex_);
  if (questions_.size() >= kMostQuestions) {
    return refuse(Code::kBusy, "too many questions to the client are open");
  }
  mcp::RequestId id(++questions_asked_);
  questions_.emplace(id, std::move(answered));
  return id;
}

void ClientSession::forget(const mcp::RequestId& id) {
  std::lock_guard held(mutex_);
  questions_.erase(id);
}

bool ClientSession::answer(const mcp::RequestId& id,
                           std::expected<base::json::Object, mcp::RpcError> answer) {
  Answered answered;
  {
    std::lock_guard held(mutex_);
    auto found = questions_.find(id);
    if (found == questions_.end()) return false;
    answered = std::move(found->second);
    questions_.erase(found);
  }
  answered(std::move(answer));
  return true;
}

void ClientSession::begin(const mcp::RequestId& id, std::function<void()> cancel) {
  std::lock_guard held(mutex_);
  running_.insert_or_assign(id, std::move(cancel));
}

void ClientSession::end(const mcp::RequestId& id) {
  std::lock_guard held(mutex_);
  running_.erase(id);
}

void ClientSession::cancel(const mcp::RequestId& id) {
  std::function<void()> cancel;
  {
    std::lock_guard held(mutex_);
    auto found = running_.find(id);
    if (found != running_.end()) cancel = found->second;
  }
  if (cancel) cancel();
}

Outcome<std::shared_ptr<ClientSession>> ClientSessions::open(ClientSession::Facts facts) {
  base::WallTime now = clock_.now();
  facts.id = random_id(random_);
  std::lock_guard held(mutex_);
  if (sessions_.size() >= limits_.all) drop_idle(now);
  make_room(facts.principal);
  if (sessions_.size() >= limits_.all) return refuse(Code::kBusy, "too many sessions");
  auto session = std::make_shared<ClientSession>(std::move(facts));
  sessions_.emplace(session->facts().id, Entry{session, now});
  return session;
}

std::shared_ptr<ClientSession> ClientSessions::find(const std::string& id,
                                                    const std::string& principal) {
  base::WallTime now = clock_.now();
  std::lock_guard held(mutex_);
  auto found = sessions_.find(id);
  if (found == sessions_.end()) return nullptr;
  if (found->second.used + limits_.idle <= now) {
    sessions_.erase(found);
    return nullptr;
  }
  if (found->second.session->facts().principal != principal) return nullptr;
  found->second.used = now;
  return found->second.session;
}

bool ClientSessions::close(const std::string& id, const std::string& principal) {
  std::lock_guard held(mutex_);
  auto found = sessions_.find(id);
  if (found == sessions_.end() || found->second.session->facts().principal != principal) {
    return false;
  }
  sessions_.erase(found);
  return true;
}

void ClientSessions::drop_idle(base::WallTime now) {
  std::erase_if(sessions_, [&](const auto& one) { return one.second.used + limits_.idle <= now; });
}

// A client that forgets to close its sessions pays with its own.
void ClientSessions::make_room(const std::string& principal) {
  auto oldest = sessions_.end();
  std::size_t count = 0;
  for (auto one = sessions_.begin(); one != sessions_.end(); ++one) {
    if (one->second.session->facts().principal != principal) continue;
    ++count;
    if (oldest == sessions_.end() || one->second.used < oldest->second.used) oldest = one;
  }
  if (count >= limits_.of_principal) sessions_.erase(oldest);
}

}  // namespace tool::mcp_ingress
