#include "toolserver/transport/open_sessions.h"

#include <utility>

namespace tool::transport {

OpenSessions::Entry::Entry(OpenSessions& sessions, OpenSession session, SessionControl control)
    : sessions_(sessions), session_(std::move(session)), control_(std::move(control)) {
  std::lock_guard lock(sessions_.mutex_);
  at_ = sessions_.entries_.insert(sessions_.entries_.end(), this);
}

OpenSessions::Entry::~Entry() {
  std::lock_guard lock(sessions_.mutex_);
  sessions_.entries_.erase(at_);
}

void OpenSessions::Entry::set_token_id(std::string token_id) {
  std::lock_guard lock(sessions_.mutex_);
  session_.token_id = std::move(token_id);
}

std::vector<OpenSession> OpenSessions::list() const {
  std::lock_guard lock(mutex_);
  std::vector<OpenSession> all;
  all.reserve(entries_.size());
  for (const Entry* entry : entries_) all.push_back(entry->session_);
  return all;
}

// What is called only posts to the session's own loop, so the lock may be held.
std::size_t OpenSessions::end(const std::function<bool(const OpenSession&)>& chosen) {
  reconnections_.forget_if([&](const Followed& one) {
    OpenSession session;
    session.id = one.id;
    session.subject = one.subject;
    session.issuer = one.issuer;
    return chosen(session);
  });
  std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const Entry* entry : entries_) {
    if (!chosen(entry->session_)) continue;
    entry->control_.end(Code::kPolicy);
    ++count;
  }
  return count;
}

void OpenSessions::recheck_all() {
  std::lock_guard lock(mutex_);
  for (const Entry* entry : entries_) entry->control_.recheck();
}

}  // namespace tool::transport
