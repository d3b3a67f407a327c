#pragma once

// A handshake is bound to the connection it runs on: someone in the middle who
// passes both ends' messages on has two TLS connections, and each of them says
// something else here. Mode encrypted needs no such binding: its records are for
// the holders of the two shares alone, whoever passes them on, so TLS may end
// before the server.
// Source: docs/wire-3.0.md, sections 4.4 and 4.5; RFC 9266; RFC 5929.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "toolserver/model/principal.h"

namespace tool::session {

enum class Reach : std::uint8_t { kLoopback, kRemote };

/// What this end can say of its TLS connection; empty when it cannot.
struct TlsBinding {
  std::string exporter;          ///< 32 bytes; label EXPORTER-Channel-Binding.
  std::string certificate_hash;  ///< SHA-256 of the server's certificate in DER.
};

/// The connection under a session.
struct Channel {
  Reach reach = Reach::kRemote;
  std::optional<TlsBinding> tls;  ///< Nothing for plaintext.
};

struct ChannelBinding {
  std::string_view name;  ///< "none", "tls-exporter" or "tls-server-end-point".
  std::string bytes;
};

/// The binding that a server takes: in mode encrypted and without TLS `none`;
/// else the best one that the client offered and this end can make. Nothing when
/// there is none, or `none` was not offered.
[[nodiscard]] std::optional<ChannelBinding> choose_binding(const Channel& channel, Mode mode,
                                                           std::span<const std::string> offered);
/// The one that a client makes: of TLS the exporter where it has one.
[[nodiscard]] ChannelBinding offered_binding(const Channel& channel, Mode mode);

/// Whether messages may go over it unencrypted by us.
[[nodiscard]] inline bool protects(const Channel& channel) {
  return channel.tls || channel.reach == Reach::kLoopback;
}

}  // namespace tool::session
