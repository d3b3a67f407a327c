#include "lakeproxy/auth/rate_limits.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cmath>

#include "base/crypto/digest.h"

namespace lake::auth {
namespace {

constexpr double kPeerFactor = 5;
constexpr double kClientFactor = 50;

// Whatever was sent as a name takes as many bytes here.
std::string key_of(std::string_view client, std::string_view peer) {
  const auto hash = base::crypto::sha256(client);
  return std::string(base::crypto::view(hash)) + std::string(peer);
}

}  // namespace

double RateLimits::left(const Bucket& bucket, Steady now) const {
  const std::chrono::duration<double> passed = now - bucket.at;
  return std::min(burst_, bucket.left + std::max(passed.count(), 0.0) * per_second_);
}

std::optional<std::chrono::seconds> RateLimits::until_one(double left) const {
  if (left >= 1) return std::nullopt;
  return std::chrono::seconds(static_cast<std::int64_t>(std::ceil((1 - left) / per_second_)));
}

std::optional<std::chrono::seconds> RateLimits::take(std::string_view name, Steady now) {
  std::lock_guard lock(mutex_);
  auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    if (buckets_.size() >= most_) {
      by_name_.erase(buckets_.back().name);
      buckets_.pop_back();
    }
    buckets_.push_front({std::string(name), burst_, now});
    by_name_.emplace(buckets_.front().name, buckets_.begin());
  } else {
    buckets_.splice(buckets_.begin(), buckets_, found->second);
  }
  Bucket& bucket = buckets_.front();
  bucket.left = left(bucket, now);
  bucket.at = std::max(bucket.at, now);
  auto time = until_one(bucket.left);
  if (!time) bucket.left -= 1;
  return time;
}

std::optional<std::chrono::seconds> RateLimits::wait(std::string_view name, Steady now) const {
  std::lock_guard lock(mutex_);
  auto found = by_name_.find(name);
  return found == by_name_.end() ? std::nullopt : until_one(left(*found->second, now));
}

std::size_t RateLimits::size() const {
  std::lock_guard lock(mutex_);
  return buckets_.size();
}

GuessLimits::GuessLimits(std::size_t count)
    : is_on_(count > 0),
      of_both_(static_cast<double>(count) / 60, static_cast<double>(count)),
      of_peer_(kPeerFactor * static_cast<double>(count) / 60,
               kPeerFactor * static_cast<double>(count)),
      of_client_(kClientFactor * static_cast<double>(count) / 60,
                 kClientFactor * static_cast<double>(count)) {}

std::optional<std::chrono::seconds> GuessLimits::blocked(std::string_view client,
                                                         std::string_view peer, Steady now) const {
  if (!is_on_) return std::nullopt;
  const std::string network = peer_network(peer);
  return std::max({of_both_.wait(key_of(client, network), now), of_peer_.wait(network, now),
                   of_client_.wait(key_of(client, ""), now)});
}

void GuessLimits::count_wrong(std::string_view client, std::string_view peer, Steady now) {
  if (!is_on_) return;
  const std::string network = peer_network(peer);
  static_cast<void>(of_both_.take(key_of(client, network), now));
  static_cast<void>(of_peer_.take(network, now));
  static_cast<void>(of_client_.take(key_of(client, ""), now));
}

std::string peer_network(std::string_view peer) {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(peer, error);
  if (error || !address.is_v6() || address.to_v6().is_v4_mapped()) return std::string(peer);
  auto bytes = address.to_v6().to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), 0);
  return boost::asio::ip::address_v6(bytes).to_string();
}

}  // namespace lake::auth
