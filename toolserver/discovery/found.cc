#include "toolserver/discovery/found.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <utility>

#include "base/core/loopback.h"
#include "base/core/text.h"
#include "toolserver/model/tool_id.h"
#include "toolserver/settings/endpoint.h"

namespace tool::discovery {
namespace {

constexpr std::size_t kWordBytes = 128;
constexpr std::size_t kHostBytes = 253;

bool is_address(std::string_view text) {
  boost::system::error_code error;
  boost::asio::ip::make_address(text, error);
  return !error && text.find('%') == std::string_view::npos;
}

bool is_host(std::string_view text) {
  if (is_address(text)) return true;
  return !text.empty() && text.size() <= kHostBytes && text.front() != '-' && text.front() != '.' &&
         text.find("..") == std::string_view::npos && std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '.';
         });
}

}  // namespace

void Found::leave_out(std::string_view what, std::string why) {
  if (left_out.size() >= kLeftOut) {
    ++left_out_more;
    return;
  }
  left_out.push_back({base::for_terminal(base::shorten(what, kWordBytes)), std::move(why)});
}

void Found::add(std::string_view node_id, Way way, Plain plain) {
  if (node_id.size() > 64 || !ToolId::parse(std::string(node_id) + ".x")) {
    return leave_out(node_id, "not the name of a node");
  }
  if (!usable(way, plain)) return leave_out(way.url, "not an address that may be called");
  auto known = nodes.find(node_id);
  if (known == nodes.end()) {
    if (nodes.size() >= kNodes) return leave_out(node_id, "more than 256 nodes");
    known = nodes.emplace(std::string(node_id), std::vector<Way>()).first;
  }
  auto& ways = known->second;
  if (std::ranges::find(ways, way) != ways.end()) return;
  if (ways.size() >= kWays) return leave_out(node_id, "more than 8 addresses of one node");
  ways.push_back(std::move(way));
}

std::optional<Way> way_to(std::string_view host, std::uint16_t port, std::string_view address,
                          Plain plain) {
  if (!is_host(host) || port == 0 || (!address.empty() && !is_address(address))) return {};
  auto bracketed = [](std::string_view text) {
    return text.find(':') == std::string_view::npos ? std::string(text) : fmt::format("[{}]", text);
  };
  std::string_view stands_for = address.empty() ? host : address;
  if (plain == Plain::kLoopback && base::is_loopback_address(stands_for)) {
    return Way{fmt::format("ws://{}:{}", bracketed(stands_for), port), {}};
  }
  return Way{fmt::format("wss://{}:{}", bracketed(host), port), std::string(address)};
}

bool usable(const Way& way, Plain plain) {
  if (way.url.size() > kUrlBytes || (!way.address.empty() && !is_address(way.address)))
    return false;
  auto endpoint = settings::parse_endpoint(way.url);
  if (!endpoint || !is_host(endpoint->host)) return false;
  if (way.url.starts_with("wss://")) return true;
  return way.url.starts_with("ws://") && plain == Plain::kLoopback && way.address.empty() &&
         base::is_loopback_address(endpoint->host);
}

}  // namespace tool::discovery
