#include "toolserver/session/channel.h"

#include <algorithm>

namespace tool::session {
namespace {

constexpr std::string_view kNone = "none";
constexpr std::string_view kExporter = "tls-exporter";
constexpr std::string_view kEndPoint = "tls-server-end-point";

}  // namespace

std::optional<ChannelBinding> choose_binding(const Channel& channel,
                                             std::span<const std::string> offered) {
  if (!channel.tls) return ChannelBinding{kNone, {}};
  auto offers = [&](std::string_view name) {
    return std::ranges::find(offered, name) != offered.end();
  };
  if (!channel.tls->exporter.empty() && offers(kExporter)) {
    return ChannelBinding{kExporter, channel.tls->exporter};
  }
  if (!channel.tls->certificate_hash.empty() && offers(kEndPoint)) {
    return ChannelBinding{kEndPoint, channel.tls->certificate_hash};
  }
  return std::nullopt;
}

std::string_view offered_binding(const Channel& channel) {
  if (!channel.tls) return kNone;
  return channel.tls->exporter.empty() ? kEndPoint : kExporter;
}

}  // namespace tool::session
