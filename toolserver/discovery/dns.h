#pragma once

// Nodes as the targets of SRV records: the first label of a target is the node's id.
// A record holds for its time to live, and is asked for again within it.
// Source: RFC 2782; docs/tools/discovery.md.

#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <string>

#include "toolserver/discovery/dns_answer.h"
#include "toolserver/discovery/source.h"

namespace tool::discovery {

struct DnsOptions {
  std::string name;    ///< Of the SRV records: "_scp._tcp.plant.example".
  std::string server;  ///< "address:port" of a name server; empty: those of the machine.
  Plain plain = Plain::kRefused;
};

/// Where a name server is, from "dns://address" or "dns://address:port".
/// Errors: kInvalid  another URL.
[[nodiscard]] base::Result<std::string> name_server_of(std::string_view url);

class Dns final : public Source {
 public:
  static constexpr std::size_t kTargets = 64;             ///< Names that are looked up.
  static constexpr std::chrono::seconds kShortestTtl{1};  ///< However short a record says.

  explicit Dns(DnsOptions options) : options_(std::move(options)) {}

  [[nodiscard]] base::Task<base::Result<Found>> next(base::RequestContext context,
                                                     std::chrono::milliseconds longest) override;

 private:
  class Lookup;
  [[nodiscard]] base::Task<base::Result<Found>> look(base::RequestContext context);

  const DnsOptions options_;
  std::optional<std::chrono::seconds> fresh_for_;  // Of the last answer; nothing: ask at once.
};

}  // namespace tool::discovery
