// Any bytes as a token: every verifier answers without a fault, and none
// accepts what it did not sign.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/crypto/encoding.h"
#include "toolserver/session/tokens.h"

namespace {

using namespace tool::session;

const base::Secret kSecret("jH4kLm9pQ2rStUvWx7yZaBcDeFgHiJ0K");
const base::WallTime kNow(std::chrono::seconds(1'795'251'600));

const base::jose::Signer& signer() {
  static const auto made = *client_token_signer(kSecret, {});
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static const ClientTokens clients("node-b", "cluster-1", signer().verifier());
  static const SessionTokens sessions("node-b", "cluster-1", signer());
  if (clients.verify(bytes, kNow) || sessions.verify(bytes, {}, {}, kNow)) std::abort();
  // The same bytes as claims, well signed: the readers of claims meet them.
  std::string token = base::crypto::to_base64url(R"({"alg":"HS256","typ":"scp-client+jwt"})") +
                      "." + base::crypto::to_base64url(bytes);
  token += "." + base::crypto::to_base64url(signer().sign(token));
  auto principal = clients.verify(token, kNow);
  if (principal && (principal->subject.empty() || principal->issuer != "node-b")) std::abort();
  return 0;
}
