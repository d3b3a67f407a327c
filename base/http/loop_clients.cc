#include "base/http/loop_clients.h"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>

namespace base::http {

// Only on its own loop can a client's connections be closed.
LoopClients::~LoopClients() {
  for (auto& [context, one] : clients_) {
    boost::asio::post(one.loop, [client = std::move(one.client)] {});
  }
}

Client& LoopClients::of(const boost::asio::any_io_executor& loop) {
  const void* context = &boost::asio::query(loop, boost::asio::execution::context);
  std::lock_guard held(mutex_);
  auto& [own_loop, client] = clients_[context];
  own_loop = loop;
  if (!client) client = Client::create(origin_, options_);
  return *client;
}

}  // namespace base::http
