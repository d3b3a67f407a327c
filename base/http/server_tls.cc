#include "base/http/server_tls.h"

#include <openssl/ssl.h>

namespace base::http {
namespace {

namespace ssl = boost::asio::ssl;

Status ask_for_client_certificates(ssl::context& context, const TlsFiles& files) {
  if (files.clients == ClientCertificates::kNone) return {};
  boost::system::error_code ec;
  context.load_verify_file(files.client_ca, ec);
  SSL_CTX* raw = context.native_handle();
  STACK_OF(X509_NAME)* names = ec ? nullptr : SSL_load_client_CA_file(files.client_ca.c_str());
  if (names == nullptr) {
    return fail(ErrorKind::kInvalid, "cannot use the file of authorities for clients' certificates")
        .with_detail(ec.message());
  }
  SSL_CTX_set_client_CA_list(raw, names);  // Takes them over.
  int mode = SSL_VERIFY_PEER;
  if (files.clients == ClientCertificates::kRequired) mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  SSL_CTX_set_verify(raw, mode, nullptr);
  // A resumed session keeps the certificate it was made with; without tickets
  // every connection shows its own, checked against today's clock.
  SSL_CTX_set_num_tickets(raw, 0);
  SSL_CTX_set_options(raw, SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  return {};
}

}  // namespace

Result<std::unique_ptr<boost::asio::ssl::context>> make_server_tls(const TlsFiles& files) {
  auto context = std::make_unique<ssl::context>(ssl::context::tls_server);
  SSL_CTX* raw = context->native_handle();
  SSL_CTX_set_min_proto_version(
      raw, files.minimum == TlsVersion::kTls13 ? TLS1_3_VERSION : TLS1_2_VERSION);
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
  RETURN_IF_ERROR(ask_for_client_certificates(*context, files));
  return context;
}

}  // namespace base::http
