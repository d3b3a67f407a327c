#include "toolserver/session/transcript.h"

#include <array>

namespace tool::session {
namespace {

using base::crypto::Sha256;
using base::crypto::view;

// Big-endian, as every number of the wire.
void update_u32(Sha256& hash, std::uint32_t number) {
  std::array<char, 4> bytes{static_cast<char>(number >> 24), static_cast<char>(number >> 16),
                            static_cast<char>(number >> 8), static_cast<char>(number)};
  hash.update({bytes.data(), bytes.size()});
}

void update_sized(Sha256& hash, std::string_view part) {
  update_u32(hash, static_cast<std::uint32_t>(part.size()));
  hash.update(part);
}

}  // namespace

Digest transcript_hello(std::string_view hello, std::string_view welcome0,
                        std::string_view channel_binding) {
  Sha256 hash;
  hash.update("SCP3-TH");
  update_sized(hash, hello);
  update_sized(hash, welcome0);
  update_sized(hash, channel_binding);
  return hash.finish();
}

Digest transcript_auth(const Digest& th1, std::string_view auth0) {
  return Sha256().update("SCP3-AUTH").update(view(th1)).update(auth0).finish();
}

Digest transcript_ready(const Digest& th_auth, std::string_view ready0) {
  return Sha256().update("SCP3-TH2").update(view(th_auth)).update(ready0).finish();
}

Digest transcript_rekey(const Digest& th2, std::uint32_t epoch, std::string_view share_c,
                        std::string_view share_s) {
  Sha256 hash;
  hash.update("SCP3-REKEY").update(view(th2));
  update_u32(hash, epoch);
  update_sized(hash, share_c);
  update_sized(hash, share_s);
  return hash.finish();
}

}  // namespace tool::session
