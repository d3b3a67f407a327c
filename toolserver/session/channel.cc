#include "toolserver/session/channel.h"

#include <algorithm>

namespace tool::session {
namespace {

constexpr std::string_view kNone = "none";
constexpr std::string_view kExporter = "tls-exporter";
constexpr std::string_view kEndPoint = "tls-server-end-point";

}  // namespace

std::optional<ChannelBinding> choose_binding(const Channel& channel, Mode mode,
                                             std::span<const std::string> offered) {
  auto offers = [&](std::string_view name) {
    return std::ranges::find(offered, name) != offered.end();
  };
  if (mode == Mode::kEncrypted || !channel.tls) {
    if (!offers(kNone)) return std::nullopt;
    return ChannelBinding{kNone, {}};
  }
  if (!channel.tls->exporter.empty() && offers(kExporter)) {
    return ChannelBinding{kExporter, channel.tls->exporter};
  }
  if (!channel.tls->certificate_hash.empty() && offers(kEndPoint)) {
    return ChannelBinding{kEndPoint, channel.tls->certificate_hash};
  }
  return std::nullopt;
}

ChannelBinding offered_binding(const Channel& channel, Mode mode) {
  if (mode == Mode::kEncrypted || !channel.tls) return {kNone, {}};
  if (channel.tls->exporter.empty()) return {kEndPoint, channel.tls->certificate_hash};
  return {kExporter, channel.tls->exporter};
}

}  // namespace tool::session
