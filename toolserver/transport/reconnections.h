#pragma once

// A client that lost its connection goes on without showing its credential
// again: by the last token of its session, and a proof of the key that the token
// is bound to. The token alone opens nothing; and what it stands for is kept
// here, so that it is taken once, and not at all after the session was ended.
// Source: docs/wire-3.0.md, section 6.8.

#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "toolserver/transport/credential_check.h"

namespace tool::transport {

/// A session that another may follow.
struct Followed {
  std::string id;
  std::string subject;
  std::string issuer;
  std::string key;         ///< Thumbprint of the key of its client.
  std::string token_id;    ///< jti of the one session token that is taken.
  base::WallTime until{};  ///< Its exp.
  base::WallTime opened{};
  CredentialCheck::Presented shown;  ///< What opened it, or refreshed it last.
  /// Ends its connection as one that was lost. Called on any thread, also when
  /// it has ended.
  std::function<void()> leave;
};

/// Safe to call from any thread.
class Reconnections {
 public:
  static constexpr std::size_t kAll = 8192;
  static constexpr std::size_t kOfPrincipal = 32;

  /// In place of what was kept of the same session. Where there are too many the
  /// oldest of the principal, or of all, is forgotten: its client shows its
  /// credential.
  void keep(Followed session, base::WallTime now);
  void forget(std::string_view id);
  /// Forgets those that `chosen` picks.
  void forget_if(const std::function<bool(const Followed&)>& chosen);
  /// Hands over the session of a verified token, and forgets it. Nothing where it
  /// is not kept, or where the token is not its last one, bound to another key or
  /// past its time.
  [[nodiscard]] std::optional<Followed> take(const session::FormerSession& token,
                                             base::WallTime now);

 private:
  void make_room(const Followed& session, base::WallTime now);

  std::mutex mutex_;
  std::list<Followed> kept_;  // Oldest first.
};

}  // namespace tool::transport
