#pragma once

// A credential that is taken back must end the sessions that it opened, and an
// operator must see who is connected: so the open sessions of all event loops
// are known in one place.
// Source: docs/wire-3.0.md, sections 6.5 and 9.

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/principal.h"
#include "toolserver/transport/reconnections.h"

namespace tool::transport {

/// A session in READY or after, as its last authentication left it.
struct OpenSession {
  std::string id;
  std::string subject;
  std::string issuer;
  std::string token_id;  ///< jti of the token; empty for other credentials.
  Method method = Method::kApiKey;
  std::string peer;
  base::WallTime since{};
};

/// What the session's owner does for others. Called on any thread, and safe to
/// call after the session has ended.
struct SessionControl {
  /// Ends the session with the close code and reason of `code`.
  std::function<void(Code code)> end;
  /// Verifies its credential again, and ends it when that is refused.
  std::function<void()> recheck;
};

/// Safe to call from any thread; a lock is held for one walk over the list.
class OpenSessions {
 public:
  /// A session's place in the list, until it is dropped. Outlived by the list.
  class Entry {
   public:
    Entry(OpenSessions& sessions, OpenSession session, SessionControl control);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    /// After a refresh, which may have brought another token.
    void set_token_id(std::string token_id);

   private:
    friend class OpenSessions;
    OpenSessions& sessions_;
    OpenSession session_;
    SessionControl control_;
    std::list<Entry*>::iterator at_;
  };

  /// Oldest first.
  [[nodiscard]] std::vector<OpenSession> list() const;
  /// Ends those that `chosen` picks, with E_POLICY; returns how many. The
  /// connections close soon after. Nor is any followed whose connection was lost.
  std::size_t end(const std::function<bool(const OpenSession&)>& chosen);
  /// What open sessions, and those whose connection was lost, are followed by.
  [[nodiscard]] Reconnections& reconnections() { return reconnections_; }
  /// To be called when the rules for credentials have changed.
  void recheck_all();

 private:
  mutable std::mutex mutex_;
  std::list<Entry*> entries_;
  Reconnections reconnections_;
};

}  // namespace tool::transport
