#include "toolserver/federation/peers.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <utility>

namespace tool::federation {

namespace asio = boost::asio;

void Peers::start(const std::string& node_id, const std::vector<discovery::Way>& ways) {
  auto& loop = thread_.loop(0);
  auto peer = std::make_shared<Peer>(node_id, options_, ways, parts_, loop.get_executor());
  auto done = asio::co_spawn(loop, peer->run(),
                             asio::bind_cancellation_slot(peer->cancel_slot(), asio::use_future));
  peers_.emplace(node_id, Running{std::move(peer), ways, std::move(done)});
}

void Peers::call(const discovery::Nodes& nodes) {
  std::lock_guard lock(mutex_);
  if (stopped_) return;
  std::erase_if(leaving_, [](const Running& one) {
    return one.done.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  });
  for (auto one = peers_.begin(); one != peers_.end();) {
    if (nodes.contains(one->first)) {
      ++one;
      continue;
    }
    asio::post(thread_.loop(0), [peer = one->second.peer] { peer->leave(); });
    leaving_.push_back(std::move(one->second));
    one = peers_.erase(one);
  }
  for (const auto& [node_id, ways] : nodes) {
    auto known = peers_.find(node_id);
    if (known == peers_.end()) {
      start(node_id, ways);
    } else if (known->second.ways != ways) {
      known->second.ways = ways;
      asio::post(thread_.loop(0), [peer = known->second.peer, ways] { peer->go_by(ways); });
    }
  }
}

void Peers::hurry(const std::string& node_id) {
  std::lock_guard lock(mutex_);
  auto found = peers_.find(node_id);
  if (stopped_ || found == peers_.end() || !found->second.peer->is_away()) return;
  asio::post(thread_.loop(0), [peer = found->second.peer] { peer->hurry(); });
}

Peers::~Peers() { stop(); }

void Peers::stop() {
  std::lock_guard lock(mutex_);
  if (std::exchange(stopped_, true)) return;
  for (auto& [node_id, one] : peers_) leaving_.push_back(std::move(one));
  peers_.clear();
  for (const auto& one : leaving_) {
    asio::post(thread_.loop(0), [peer = one.peer] { peer->stop(); });
  }
  for (auto& one : leaving_) one.done.wait();
  leaving_.clear();
  thread_.join();
}

}  // namespace tool::federation
