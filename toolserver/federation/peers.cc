#include "toolserver/federation/peers.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <utility>

namespace tool::federation {

namespace asio = boost::asio;

void Peers::connect(std::string node_id, client::ClientOptions options) {
  std::lock_guard lock(mutex_);
  if (stopped_) return;
  auto& loop = thread_.loop(0);
  auto peer =
      std::make_shared<Peer>(std::move(node_id), std::move(options), parts_, loop.get_executor());
  peers_.push_back(peer);
  running_.push_back(asio::co_spawn(
      loop, peer->run(), asio::bind_cancellation_slot(peer->cancel_slot(), asio::use_future)));
}

Peers::~Peers() { stop(); }

void Peers::stop() {
  std::lock_guard lock(mutex_);
  if (std::exchange(stopped_, true)) return;
  for (const auto& peer : peers_) {
    asio::post(thread_.loop(0), [peer] { peer->stop(); });
  }
  for (auto& one : running_) one.wait();
  running_.clear();
  thread_.join();
}

}  // namespace tool::federation
