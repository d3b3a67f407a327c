// Any text as the proofs of a forwarded call, one a line: nothing is accepted
// that was not signed, and no text ends the process. The claims of a proof are
// reached by signing the bytes as its payload.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/jose/jws.h"
#include "toolserver/federation/proof/forwarding.h"
#include "toolserver/federation/proof/link_proof.h"

namespace {

namespace fed = tool::federation;

std::unique_ptr<fed::NodeKeys> node(const char* name, const char* other) {
  base::Secret secret("a-shared-secret-of-good-length-42");
  auto keys = fed::NodeKeys::create({name, std::nullopt, secret, base::Secret()}).value();
  if (!keys->add(other, std::nullopt)) std::abort();
  return keys;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto a = node("node-a", "node-b");
  static const auto b = node("node-b", "node-a");
  std::string_view text(reinterpret_cast<const char*>(data), size);
  base::WallTime now{std::chrono::seconds(1'795'251'600)};
  base::crypto::Digest th1{};
  if (fed::verify_node_credential(*b, text, th1, now)) std::abort();

  std::vector<std::string> proofs;
  for (std::size_t from = 0; from <= text.size();) {
    std::size_t end = std::min(text.find('\n', from), text.size());
    proofs.emplace_back(text.substr(from, end - from));
    from = end + 1;
  }
  base::SystemRandom random;
  fed::ProofMemory memory(random);
  base::json::Object args;
  std::string session = "01JD0000000000000000000002";
  if (fed::accept(*b, memory, {"node-a", session, "echo.say", &args, proofs}, 8, now)) std::abort();

  auto token = base::jose::sign_compact(a->signer("node-b"), fed::kProofType, text);
  if (!token) return 0;
  auto proof = fed::verify_proof(*b, *token, "node-a", "node-b", now);
  if (!proof) return 0;
  // What was read is what would be written.
  auto again = fed::sign_proof(*a, *proof);
  if (!again) return 0;  // Escapes can make it longer than a proof may be.
  auto read = fed::verify_proof(*b, *again, "node-a", "node-b", now);
  if (!read || *read != *proof) std::abort();
  return 0;
}
