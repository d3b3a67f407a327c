#include "base/http/server.h"

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>

#include "base/http/admission_control.h"
#include "base/http/connection.h"
#include "base/http/lane.h"
#include "base/http/server_tls.h"
#include "base/http/stream_server.h"

namespace base::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;
using Acceptor = asio::basic_socket_acceptor<tcp, asio::io_context::executor_type>;

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
constexpr int kBacklog = 1024;
// Over the limits, so many are told so at once; the rest are closed without a
// word.
constexpr std::size_t kRefusedTogether = 64;
// When so many more than are admitted have not ended yet, accepting pauses: it
// must not outrun the closing of those whose places were taken.
constexpr std::size_t kEndingTogether = 256;
constexpr std::chrono::milliseconds kEnding{5};
constexpr std::chrono::milliseconds kOutOfDescriptors{50};

class AsioServer final : public Server {
 public:
  AsioServer(ServerOptions options, Refusal refusal, Workers& workers,
             std::vector<AnyHandler> handlers);
  ~AsioServer() override { shutdown(std::chrono::milliseconds(0)); }

  Status listen();
  [[nodiscard]] std::uint16_t port() const override { return port_; }
  [[nodiscard]] std::size_t connections() const override { return connections_.count(); }
  Result<bool> reload_tls(const TlsFiles& files) override;
  void set_limits(const AdmissionLimits& limits) override { admission_.set_limits(limits); }
  void shutdown(std::chrono::milliseconds grace) override;

 private:
  Status bind(const tcp::endpoint& endpoint);
  Task<void> accept();
  void admit(ServerSocket socket, const asio::ip::address& peer, Lane& lane);
  void on_each_lane(void (Lane::*act)());
  std::shared_ptr<asio::ssl::context> current_tls() {
    std::lock_guard lock(tls_mutex_);
    return tls_;
  }

  ServerOptions options_;
  Refusal refusal_;
  std::mutex tls_mutex_;
  std::shared_ptr<asio::ssl::context>
      tls_;  ///< Under tls_mutex_ once it listens; null for plain HTTP.
  AdmissionControl admission_;
  Census connections_;
  Census sweeps_;
  Census acceptors_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  Acceptor acceptor_;
  asio::steady_timer pause_;
  std::size_t next_lane_ = 0;
  std::uint16_t port_ = 0;
  std::mutex shutdown_;
  bool running_ = false;  ///< Under shutdown_.
};

AsioServer::AsioServer(ServerOptions options, Refusal refusal, Workers& workers,
                       std::vector<AnyHandler> handlers)
    : options_(std::move(options)),
      refusal_(std::move(refusal)),
      admission_(options_.limits.admission),
      acceptor_(workers.loop(0)),
      pause_(workers.loop(0)) {
  for (unsigned i = 0; i < workers.count(); ++i) {
    lanes_.push_back(std::make_unique<Lane>(workers.loop(i), std::move(handlers[i]),
                                            options_.limits, refusal_, connections_, sweeps_));
  }
}

Status AsioServer::listen() {
  ErrorCode ec;
  asio::ip::address address = asio::ip::make_address(options_.address, ec);
  if (ec) return fail(ErrorKind::kUnavailable, "not an IP address: " + options_.address);
  if (options_.tls) {
    ASSIGN_OR_RETURN(tls_, make_server_tls(*options_.tls));
  }
  RETURN_IF_ERROR(bind({address, options_.port}));
  running_ = true;
  for (auto& lane : lanes_) lane->start();
  acceptors_.enter();
  asio::co_spawn(lanes_[0]->loop(), accept(), [this](std::exception_ptr error) {
    if (error) std::terminate();
    asio::post(lanes_[0]->loop(), [this] { acceptors_.leave(); });
  });
  return {};
}

Status AsioServer::bind(const tcp::endpoint& endpoint) {
  ErrorCode ec;
  acceptor_.open(endpoint.protocol(), ec);
  if (!ec) acceptor_.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) acceptor_.bind(endpoint, ec);
  if (!ec) acceptor_.listen(kBacklog, ec);
  if (!ec) port_ = acceptor_.local_endpoint(ec).port();
  if (ec) {
    return fail(ErrorKind::kUnavailable,
                "cannot listen on " + options_.address + " port " + std::to_string(options_.port))
        .with_detail(ec.message());
  }
  return {};
}

Task<void> AsioServer::accept() {
  while (acceptor_.is_open()) {
    Lane& lane = *lanes_[next_lane_];
    next_lane_ = (next_lane_ + 1) % lanes_.size();
    tcp::endpoint peer;
    auto [ec, socket] = co_await acceptor_.async_accept(lane.loop().get_executor(), peer, kToken);
    if (!ec) {
      admit(std::move(socket), peer.address(), lane);
      if (connections_.count() >= admission_.count() + kEndingTogether) {
        pause_.expires_after(kEnding);
        co_await pause_.async_wait(kToken);
      }
    } else if (ec == asio::error::no_descriptors || ec == asio::error::no_memory ||
               ec == boost::system::errc::too_many_files_open_in_system) {
      // The client stays in the backlog; trying again at once would spin.
      pause_.expires_after(kOutOfDescriptors);
      co_await pause_.async_wait(kToken);
    }
  }
}

void AsioServer::admit(ServerSocket socket, const asio::ip::address& peer, Lane& lane) {
  auto [place, replaced] = admission_.admit(peer, lane);
  if (replaced) {
    asio::post(replaced->lane().loop(), [replaced] { replaced->close(); });
  }
  if (!place && connections_.count() >= admission_.count() + kRefusedTogether) return;
  connections_.enter();
  if (auto tls = current_tls()) {
    run_tls_connection(lane, std::move(socket), std::move(place), *tls);
  } else {
    run_plain_connection(lane, std::move(socket), std::move(place));
  }
}

Result<bool> AsioServer::reload_tls(const TlsFiles& files) {
  auto old = current_tls();
  if (!old) return fail(ErrorKind::kInvalid, "the server speaks no TLS");
  ASSIGN_OR_RETURN(std::shared_ptr<asio::ssl::context> fresh, make_server_tls(files));
  bool differs = X509_cmp(SSL_CTX_get0_certificate(old->native_handle()),
                          SSL_CTX_get0_certificate(fresh->native_handle())) != 0;
  std::lock_guard lock(tls_mutex_);
  tls_ = std::move(fresh);
  return differs;
}

void AsioServer::on_each_lane(void (Lane::*act)()) {
  for (auto& lane : lanes_) {
    asio::post(lane->loop(), [raw = lane.get(), act] { (raw->*act)(); });
  }
}

void AsioServer::shutdown(std::chrono::milliseconds grace) {
  std::lock_guard lock(shutdown_);
  if (!running_) return;
  running_ = false;
  auto end = std::chrono::steady_clock::now() + grace;
  // In this order: the last connection is on its lane's queue before drain().
  asio::post(lanes_[0]->loop(), [this] {
    ErrorCode ignored;  // Closed is closed.
    acceptor_.close(ignored);
    pause_.cancel();
  });
  acceptors_.wait_until_empty();
  on_each_lane(&Lane::drain);
  if (!connections_.wait_until_empty(end)) {
    on_each_lane(&Lane::abort_all);
    connections_.wait_until_empty();
  }
  // Sweeps go on until here, since they end slow writes; their end also tells
  // that everything posted above has run.
  on_each_lane(&Lane::stop_sweep);
  sweeps_.wait_until_empty();
}

template <class OneHandler>
Result<std::unique_ptr<Server>> start_any(ServerOptions options, Workers& workers,
                                          std::vector<OneHandler> handlers, Refusal refusal) {
  if (handlers.size() != workers.count()) {
    return fail(ErrorKind::kInvalid, "one handler per worker is needed");
  }
  std::vector<AnyHandler> any;
  any.reserve(handlers.size());
  for (OneHandler& handler : handlers) any.emplace_back(std::move(handler));
  auto server =
      std::make_unique<AsioServer>(std::move(options), std::move(refusal), workers, std::move(any));
  RETURN_IF_ERROR(server->listen());
  return server;
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, Workers& workers,
                                              std::vector<Handler> handlers, Refusal refusal) {
  return start_any(std::move(options), workers, std::move(handlers), std::move(refusal));
}

Result<std::unique_ptr<Server>> start_stream_server(ServerOptions options, Workers& workers,
                                                    std::vector<StreamHandler> handlers,
                                                    Refusal refusal) {
  return start_any(std::move(options), workers, std::move(handlers), std::move(refusal));
}

}  // namespace base::http
