#pragma once

// What a discovery server may say: that a node is at an address. Nothing of it is
// believed but as a place to knock at. Who is there is proved by the node's
// registered key, over the link. So all that is asked of these values is that they
// are well formed and few.
// Source: docs/tools/discovery.md; docs/adr/0150.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tool::discovery {

inline constexpr std::size_t kNodes = 256;   ///< Of one answer; more are left out.
inline constexpr std::size_t kWays = 8;      ///< To one node.
inline constexpr std::size_t kLeftOut = 32;  ///< Reasons that are told; the rest is counted.
inline constexpr std::size_t kUrlBytes = 512;

/// Whether a node may be called in the clear: never, or on this machine.
enum class Plain : std::uint8_t { kRefused, kLoopback };

/// One way to a node.
struct Way {
  std::string url;      ///< "wss://host:port[/path]", or "ws://" to this machine.
  std::string address;  ///< What the host's name stands for; empty: the machine's resolver knows.
  friend bool operator==(const Way&, const Way&) = default;
};

/// By node id; of each the best way first.
using Nodes = std::map<std::string, std::vector<Way>, std::less<>>;

/// One answer, read.
struct Found {
  Nodes nodes;
  struct LeftOut {
    std::string what;  ///< As the server wrote it, made fit for a log and cut.
    std::string why;
  };
  std::vector<LeftOut> left_out;
  std::size_t left_out_more = 0;
  std::string partial;  ///< Why there may be nodes that are not named; empty: there are none.
  std::chrono::seconds fresh_for{0};  ///< How long the server says this holds; 0: it does not say.

  /// Adds a way, behind those that are there, unless it is one of them. Leaves out
  /// a node_id that is no namespace of tools (1 to 64 of a-z, 0-9, '_', '-', a letter
  /// first), a way that is not usable(), and what is over kNodes and kWays.
  void add(std::string_view node_id, Way way, Plain plain);
  void leave_out(std::string_view what, std::string why);
};

/// The URL of a host and port of a record: ws:// where `plain` allows it and `address`
/// (or, where that is empty, `host`) is a literal loopback address, else wss://.
/// Nothing where `host` is neither a host name nor an address, or `port` is 0.
[[nodiscard]] std::optional<Way> way_to(std::string_view host, std::uint16_t port,
                                        std::string_view address, Plain plain);

/// A way that may be tried: a wss:// URL, or ws:// to a literal loopback address where
/// `plain` allows it.
[[nodiscard]] bool usable(const Way& way, Plain plain);

}  // namespace tool::discovery
