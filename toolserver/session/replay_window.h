#pragma once

// A signed message that is sent again must not be done again. Remembering
// every nonce for ever is not possible, so messages carry their time: outside
// the window they are stale, inside it each nonce is remembered. What is
// remembered is bounded, and one session cannot fill it for the others.
// Source: docs/wire-3.0.md, section 8.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/core/clock.h"
#include "toolserver/model/envelope.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/nonce_set.h"
#include "toolserver/model/ulid.h"

namespace tool::session {

struct ReplayLimits {
  std::chrono::milliseconds window{60'000};
  std::size_t entries = 1'000'000;  ///< Of all sessions; one may hold a tenth.
};

/// Safe to call from any thread. Call it only for messages whose signature
/// holds: a stranger must not be able to fill it.
class ReplayWindow {
 public:
  /// It begins empty, also after a restart: keys of sessions live in memory
  /// alone, so no message from before has a session that would take it.
  ReplayWindow(ReplayLimits limits, base::Random& random);
  ~ReplayWindow();

  /// Takes a message in, once.
  /// Errors: E_STALE  |now - time| is over the window, or `time` is in a span
  ///                  that is forgotten already;
  ///         E_REPLAY  the session's nonce was seen;
  ///         E_BUSY  no room, in all or for this session.
  [[nodiscard]] Outcome<void> admit(const Ulid& session, const MessageNonce& nonce, WireTime time,
                                    base::WallTime now);
  /// The first half, for messages that a state admits only once.
  /// Errors: E_STALE as above.
  [[nodiscard]] Outcome<void> check_fresh(WireTime time, base::WallTime now) const;
  /// The session has ended: its key is gone, and with it all its messages.
  void forget(const Ulid& session);

  /// How many are remembered now.
  [[nodiscard]] std::size_t size() const { return entries_.load(std::memory_order_relaxed); }

 private:
  struct Shard;
  static constexpr std::size_t kShards = 16;

  [[nodiscard]] Shard& shard_of(const Ulid& session) const;
  [[nodiscard]] std::int64_t span_of(WireTime time) const;
  [[nodiscard]] bool reserve();
  void drop_old(Shard& shard, base::WallTime now);
  /// Nothing when there is no room in all.
  [[nodiscard]] std::optional<Outcome<void>> try_admit(const Ulid& session,
                                                       const MessageNonce& nonce, WireTime time,
                                                       base::WallTime now);
  void sweep(base::WallTime now);

  ReplayLimits limits_;
  std::int64_t span_ms_;  ///< Times are remembered and forgotten in spans of this length.
  NonceSet::Key hash_key_;
  std::atomic<std::size_t> entries_{0};
  std::atomic<std::int64_t> swept_{0};  ///< The span of the last sweep().
  std::unique_ptr<Shard[]> shards_;
};

/// How long a refused caller waits when there is no room.
inline constexpr std::chrono::milliseconds kRetryWhenFull{1'000};

}  // namespace tool::session
