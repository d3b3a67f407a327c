#include "bench/tools/load/target.h"

#include <cstdlib>

namespace bench {
namespace {

base::Secret from_environment(const char* name) {
  const char* value = std::getenv(name);
  return base::Secret(value == nullptr ? "" : value);
}

}  // namespace

base::Result<tool::client::ClientOptions> client_options(const Target& target) {
  using tool::session::Suite;
  tool::client::ClientOptions options;
  options.url = target.url;
  options.ca_file = target.ca_file;
  options.plain = tool::client::PlainTransport::kLoopbackOnly;
  options.message_bytes = 64 << 20;
  auto& session = options.session;
  if (target.mode == "encrypted") {
    session.mode = tool::Mode::kEncrypted;
    session.suites = {Suite::kX25519Aes256Gcm};
  } else if (target.mode == "simple") {
    session.mode = tool::Mode::kSimple;
    session.suites = {Suite::kNone};
  } else {
    return base::fail(base::ErrorKind::kInvalid, "--mode: must be encrypted or simple");
  }
  session.secrets = {from_environment("SCP_SECRET_KEY"), from_environment("SCP_API_KEY"),
                     from_environment("SCP_KDF_SALT")};
  session.method = tool::Method::kApiKey;
  RETURN_IF_ERROR(tool::client::check(options));
  return options;
}

}  // namespace bench
