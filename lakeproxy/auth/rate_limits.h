#pragma once

// How often somebody may ask, and how often a client's secret may be guessed. Both are token
// buckets by name, in bounded memory: names that nobody has used for longest are forgotten first.

#include <chrono>
#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace lake::auth {

using Steady = std::chrono::steady_clock::time_point;

/// A bucket for each name. Safe from any thread.
class RateLimits {
 public:
  /// A bucket holds `burst`, at least 1, and `per_second` come back. `most` names are remembered.
  RateLimits(double per_second, double burst, std::size_t most = 8192)
      : per_second_(per_second), burst_(burst), most_(most) {}

  /// Takes one from the bucket. Nothing where it had one, else the time until it has.
  [[nodiscard]] std::optional<std::chrono::seconds> take(std::string_view name, Steady now);
  /// The same without taking it.
  [[nodiscard]] std::optional<std::chrono::seconds> wait(std::string_view name, Steady now) const;
  [[nodiscard]] std::size_t size() const;

 private:
  struct Bucket {
    std::string name;
    double left = 0;
    Steady at;
  };
  [[nodiscard]] double left(const Bucket& bucket, Steady now) const;
  [[nodiscard]] std::optional<std::chrono::seconds> until_one(double left) const;

  double per_second_;
  double burst_;
  std::size_t most_;
  mutable std::mutex mutex_;
  std::list<Bucket> buckets_;  ///< The one used last in front.
  std::unordered_map<std::string_view, std::list<Bucket>::iterator> by_name_;  ///< Of their names.
};

/// Wrong secrets at the token endpoint. A name is blocked for the address that guesses it, so
/// whoever guesses does not lock the client out; an address is blocked after five times as many,
/// over all names, and a name after fifty times as many, over all addresses. Safe from any thread.
class GuessLimits {
 public:
  /// 0 blocks nothing.
  explicit GuessLimits(std::size_t per_minute);

  /// How long that client is to wait; nothing: it may ask.
  [[nodiscard]] std::optional<std::chrono::seconds> blocked(std::string_view client,
                                                            std::string_view peer,
                                                            Steady now) const;
  void count_wrong(std::string_view client, std::string_view peer, Steady now);

 private:
  bool is_on_;
  RateLimits of_both_, of_peer_, of_client_;
};

/// The part of an address that one household has: of IPv6 the first 64 bits.
[[nodiscard]] std::string peer_network(std::string_view peer);

}  // namespace lake::auth
