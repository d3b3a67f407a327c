#include "base/websocket/client_stream.h"

#include <fmt/format.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <type_traits>
#include <utility>

#include "base/http/dial.h"
#include "base/http/tls_socket.h"

namespace base::ws {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using TlsLayer = http::TlsSocket<tcp::socket>;

constexpr auto kToTuple = asio::as_tuple(asio::use_awaitable);

Error forbidden(std::string detail) {
  return fail(ErrorKind::kForbidden, "the TLS handshake was refused")
      .with_reason("tls")
      .with_detail(std::move(detail));
}

// An alert of the peer is an error of OpenSSL's library, no error of the socket.
bool is_alert(error_code error) { return error.category() == asio::error::get_ssl_category(); }

template <class Layer>
class SocketStream final : public ClientStream {
 public:
  static constexpr bool kTls = std::is_same_v<Layer, TlsLayer>;

  template <class... Args>
  explicit SocketStream(Args&&... args)
      : layer_(std::forward<Args>(args)...), watchdog_(socket()) {}

  Task<std::size_t> read(std::span<char> into) override;
  Task<bool> write(std::string_view head, std::string_view body) override;
  std::size_t write_now(std::string_view bytes) override;
  void abort() override {
    error_code ignored;  // Closed is closed.
    socket().close(ignored);
  }
  void vouch() override {}                          // A client counts no strangers.
  void on_drain(std::function<void()>) override {}  // Nothing drains a client.
  [[nodiscard]] const std::string& peer() const override { return peer_; }
  [[nodiscard]] SSL* tls() override {
    if constexpr (kTls) {
      return layer_.native_handle();
    } else {
      return nullptr;
    }
  }

  void arm(Deadline until) override { watchdog_.arm(until); }
  void disarm() override { watchdog_.disarm(); }
  [[nodiscard]] bool expired() const override { return watchdog_.expired(); }
  [[nodiscard]] bool refused() const override { return refused_; }

  Layer& layer() { return layer_; }
  tcp::socket& socket() {
    if constexpr (kTls) {
      return layer_.next_layer();
    } else {
      return layer_;
    }
  }
  http::Watchdog& watchdog() { return watchdog_; }
  Status set_up();

 private:
  Layer layer_;
  http::Watchdog watchdog_;
  std::string peer_;
  bool refused_ = false;
};

template <class Layer>
Task<std::size_t> SocketStream<Layer>::read(std::span<char> into) {
  if constexpr (kTls) {
    auto [error, n] = co_await layer_.read_some(into);
    if (error && is_alert(error)) refused_ = true;
    co_return error ? 0 : n;
  } else {
    auto [error, n] =
        co_await layer_.async_read_some(asio::buffer(into.data(), into.size()), kToTuple);
    co_return error ? 0 : n;
  }
}

template <class Layer>
Task<bool> SocketStream<Layer>::write(std::string_view head, std::string_view body) {
  while (!head.empty() || !body.empty()) {
    std::size_t written = 0;
    if constexpr (kTls) {
      auto [error, n] = co_await layer_.write_some(head.empty() ? body : head);
      if (error) co_return false;
      written = n;
    } else {
      std::array<asio::const_buffer, 2> buffers{asio::buffer(head.data(), head.size()),
                                                asio::buffer(body.data(), body.size())};
      auto [error, n] = co_await layer_.async_write_some(buffers, kToTuple);
      if (error) co_return false;
      written = n;
    }
    std::size_t of_head = std::min(written, head.size());
    head.remove_prefix(of_head);
    body.remove_prefix(written - of_head);
  }
  co_return true;
}

template <class Layer>
std::size_t SocketStream<Layer>::write_now(std::string_view bytes) {
  if constexpr (kTls) {
    return layer_.write_now(bytes);
  } else {
    error_code later;  // A failure comes again with the next write.
    return layer_.write_some(asio::buffer(bytes), later);
  }
}

// Once connected.
template <class Layer>
Status SocketStream<Layer>::set_up() {
  error_code error;
  auto endpoint = socket().remote_endpoint(error);
  if (!error) socket().non_blocking(true, error);
  if (error) return http::unavailable(error.message());
  peer_ = endpoint.address().to_string();
  return {};
}

// The certificate must be for `host`, by its alternative names alone. Source:
// RFC 9525, section 6.
bool expect_host(SSL* ssl, const std::string& host) {
  X509_VERIFY_PARAM* rules = SSL_get0_param(ssl);
  X509_VERIFY_PARAM_set_hostflags(
      rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  error_code not_an_address;
  asio::ip::make_address(host, not_an_address);
  if (!not_an_address) return X509_VERIFY_PARAM_set1_ip_asc(rules, host.c_str()) == 1;
  // An address has no place in the server name: RFC 6066, section 3.
  return X509_VERIFY_PARAM_set1_host(rules, host.data(), host.size()) == 1 &&
         SSL_set_tlsext_host_name(ssl, host.c_str()) == 1;
}

Task<Status> shake_hands(TlsLayer& layer, http::Watchdog& watchdog, std::string host) {
  if (!expect_host(layer.native_handle(), host)) {
    co_return fail(ErrorKind::kInternal, "cannot name the host for TLS");
  }
  error_code failed = co_await layer.connect();
  if (co_await http::was_cancelled()) co_return http::cancelled();
  if (watchdog.expired()) co_return http::timed_out("during the TLS handshake");
  if (long why = SSL_get_verify_result(layer.native_handle()); failed && why != X509_V_OK) {
    co_return fail(ErrorKind::kForbidden, fmt::format("the server's certificate is not trusted: {}",
                                                      X509_verify_cert_error_string(why)))
        .with_reason("certificate");
  }
  if (failed && is_alert(failed)) co_return forbidden(failed.message());
  if (failed) co_return http::unavailable("TLS handshake: " + failed.message());
  co_return Status{};
}

Status use_own_certificate(asio::ssl::context& context, const ClientTlsFiles& files) {
  error_code error;
  context.use_certificate_chain_file(files.certificate, error);
  if (!error) context.use_private_key_file(files.key, asio::ssl::context::pem, error);
  if (error || SSL_CTX_check_private_key(context.native_handle()) != 1) {
    return fail(ErrorKind::kInvalid, "the client's certificate or key cannot be used")
        .with_detail(error.message());
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<asio::ssl::context>> make_client_tls(const ClientTlsFiles& files) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
  error_code error;
  if (files.ca.empty()) {
    context->set_default_verify_paths(error);
  } else {
    context->load_verify_file(files.ca, error);
  }
  SSL_CTX* raw = context->native_handle();
  if (error || SSL_CTX_set_min_proto_version(raw, TLS1_3_VERSION) != 1) {
    return fail(ErrorKind::kInvalid, "the file of trusted certificates cannot be read")
        .with_detail(error.message());
  }
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);
  context->set_verify_mode(asio::ssl::verify_peer);
  if (!files.certificate.empty()) RETURN_IF_ERROR(use_own_certificate(*context, files));
  return context;
}

Task<Result<std::unique_ptr<ClientStream>>> open_stream(http::Origin origin, std::string address,
                                                        std::shared_ptr<asio::ssl::context> tls,
                                                        Deadline until) {
  using Opened = Result<std::unique_ptr<ClientStream>>;
  auto executor = co_await asio::this_coro::executor;
  http::Origin place = origin;
  if (!address.empty()) place.host = std::move(address);
  if (tls == nullptr) {
    auto plain = std::make_unique<SocketStream<tcp::socket>>(executor);
    CO_RETURN_IF_ERROR(
        co_await http::dial(plain->socket(), plain->watchdog(), std::move(place), until));
    CO_RETURN_IF_ERROR(plain->set_up());
    co_return Opened(std::move(plain));
  }
  auto encrypted = std::make_unique<SocketStream<TlsLayer>>(tcp::socket(executor), *tls);
  CO_RETURN_IF_ERROR(
      co_await http::dial(encrypted->socket(), encrypted->watchdog(), std::move(place), until));
  CO_RETURN_IF_ERROR(encrypted->set_up());
  CO_RETURN_IF_ERROR(co_await shake_hands(encrypted->layer(), encrypted->watchdog(), origin.host));
  co_return Opened(std::move(encrypted));
}

}  // namespace base::ws
