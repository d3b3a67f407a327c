#include "base/http/server_tls.h"

#include <openssl/ssl.h>

namespace base::http {

Result<std::unique_ptr<boost::asio::ssl::context>> make_server_tls(const TlsFiles& files) {
  namespace ssl = boost::asio::ssl;
  auto context = std::make_unique<ssl::context>(ssl::context::tls_server);
  SSL_CTX* raw = context->native_handle();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(raw, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_cipher_list(raw, "ECDHE+AESGCM:ECDHE+CHACHA20");
  // Idle connections are many, and their record buffers are large.
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);

  boost::system::error_code ec;
  context->use_certificate_chain_file(files.certificate_chain, ec);
  if (ec) {
    return fail(ErrorKind::kInvalid, "cannot use the TLS certificate file")
        .with_detail(ec.message());
  }
  context->use_private_key_file(files.private_key, ssl::context::pem, ec);
  if (ec) return fail(ErrorKind::kInvalid, "cannot use the TLS key file").with_detail(ec.message());
  if (SSL_CTX_check_private_key(raw) != 1) {
    return fail(ErrorKind::kInvalid, "the TLS key does not belong to the certificate");
  }
  return context;
}

}  // namespace base::http
