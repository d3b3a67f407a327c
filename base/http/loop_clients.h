#pragma once

// A client of HTTP belongs to one event loop; what is called from any loop has
// one for each.

#include <boost/asio/any_io_executor.hpp>
#include <map>
#include <memory>
#include <mutex>

#include "base/http/client.h"

namespace base::http {

/// Clients of one origin, made when a loop first asks. Safe from any event loop.
/// Each closes its connections on its own loop, also after this is gone. Destroy
/// it before the loops, when nobody waits for an answer; the loops may run.
class LoopClients {
 public:
  LoopClients(Origin origin, ClientOptions options)
      : origin_(std::move(origin)), options_(std::move(options)) {}
  ~LoopClients();
  LoopClients(const LoopClients&) = delete;
  LoopClients& operator=(const LoopClients&) = delete;

  /// The client of `loop`, on which the caller runs; as long as this is there.
  [[nodiscard]] Client& of(const boost::asio::any_io_executor& loop);

 private:
  struct LoopClient {
    boost::asio::any_io_executor loop;
    std::unique_ptr<Client> client;
  };
  const Origin origin_;
  const ClientOptions options_;
  std::mutex mutex_;
  std::map<const void*, LoopClient> clients_;  // By event loop.
};

}  // namespace base::http
