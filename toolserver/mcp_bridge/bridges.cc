#include "toolserver/mcp_bridge/bridges.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <utility>

namespace tool::bridge {

namespace asio = boost::asio;

base::Result<std::unique_ptr<Bridges>> Bridges::start(const std::vector<settings::Bridge>& configs,
                                                      const std::filesystem::path& pins,
                                                      const std::filesystem::path& logins,
                                                      const BridgeParts& parts) {
  std::unique_ptr<Bridges> all(new Bridges());
  auto& loop = all->thread_.loop(0);
  for (const auto& config : configs) {
    ASSIGN_OR_RETURN(auto store, PinStore::open(pins, config.name, parts.clock));
    if (auto file = store.read(); !file) return std::move(file).error();
    std::optional<login::LoginStore> own_logins;
    if (config.login) {
      ASSIGN_OR_RETURN(own_logins, login::LoginStore::open(logins, config.name));
    }
    all->bridges_.push_back(std::make_shared<Bridge>(
        config, std::move(store), std::move(own_logins), parts, loop.get_executor()));
  }
  for (const auto& bridge : all->bridges_) {
    all->running_.push_back(
        asio::co_spawn(loop, bridge->run(),
                       asio::bind_cancellation_slot(bridge->cancel_slot(), asio::use_future)));
  }
  return all;
}

Bridges::~Bridges() { stop(); }

void Bridges::stop() {
  for (const auto& bridge : bridges_) {
    asio::post(thread_.loop(0), [bridge] { bridge->stop(); });
  }
  for (auto& one : running_) one.wait();
  running_.clear();
  thread_.join();
}

}  // namespace tool::bridge
