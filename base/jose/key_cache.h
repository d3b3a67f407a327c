#pragma once

// The issuer's keys, fetched when they are needed and kept while they are
// fresh. Keys rotate: an unknown kid asks again, but not more often than a
// stranger with invented kids should make us ask. The issuer may be away for a
// while: then the keys of before serve on for a bounded time.

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/jose/endpoint.h"
#include "base/jose/jwt.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "base/runtime/task_group.h"

namespace base::jose {

struct KeyCacheOptions {
  std::string url;      ///< Of the JWK set; https.
  std::string ca_file;  ///< PEM with the trusted roots; the system's when empty.
  PlainHttp plain_http = PlainHttp::kRefused;
  std::chrono::seconds fresh{600};   ///< Keys are used without asking.
  std::chrono::seconds stale{3600};  ///< Longer, while asking fails.
  /// Least time since the last fetch before an unknown kid causes one.
  std::chrono::seconds unknown_kid_gap{30};
  std::chrono::seconds failure_gap{5};  ///< Pause after a failed fetch.
  std::chrono::milliseconds fetch_time{5'000};
};

/// Belongs to one event loop, as the HTTP client it uses: a server with several
/// workers has one for each. Not thread-safe; all calls come from that loop.
class KeyCache {
 public:
  /// `clock` outlives the cache. Fetches nothing yet.
  /// Errors: kInvalid  the URL.
  [[nodiscard]] static Result<std::unique_ptr<KeyCache>> create(boost::asio::any_io_executor loop,
                                                                KeyCacheOptions options,
                                                                const Clock& clock);
  ~KeyCache();

  /// The key of that name. Callers that need a fetch share one; it goes
  /// on when one of them is cancelled or out of time.
  /// Errors: kUnauthenticated  no such key, reason kKey;
  ///         kUnavailable  no such key among those kept, and the last fetch
  ///         failed, so that there may be one: the issuer cannot be reached, redirects,
  ///         answers with another status than 200, over 256 KiB or not a JWK
  ///         set; detail() tells which;
  ///         kTimeout  the context's deadline passed; kCancelled.
  [[nodiscard]] Task<Result<Verifier>> find(RequestContext context, std::string kid);

  /// Checks a token of this issuer; `rules.header.algorithm` is kRs256 or kEs256.
  /// Errors: as jose::verify and find(); a token without kid has reason kKey.
  [[nodiscard]] Task<Result<Claims>> verify(RequestContext context, std::string token, Rules rules);

  /// Returns when no fetch is running, at most fetch_time later. Await it
  /// before the cache is destroyed while its loop runs on.
  [[nodiscard]] Task<void> wait();

  /// Fetches begun so far.
  [[nodiscard]] std::size_t fetches() const;

 private:
  struct State;
  // The coroutines own the state, since the cache may go before they begin.
  static Task<void> fetch(std::shared_ptr<State> state);
  static Task<Result<Verifier>> find_in(std::shared_ptr<State> state, RequestContext context,
                                        std::string kid);
  static Task<Result<Claims>> verify_by(std::shared_ptr<State> state, RequestContext context,
                                        std::string token, Rules rules);
  static Task<void> wait_for(std::shared_ptr<State> state);
  explicit KeyCache(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace base::jose
