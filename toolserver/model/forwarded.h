#pragma once

// How a call came here that other nodes forwarded: every step was signed by the
// node that took it.
// Source: docs/wire-3.0.md, section 18.2.

#include <cstdint>
#include <string>
#include <vector>

#include "base/json/json.h"

namespace tool {

struct Forwarded {
  std::string subject;              ///< The caller, as its own node knows it.
  std::string issuer;               ///< Who vouches for it there.
  std::string request;              ///< The caller's request, the same on all nodes.
  std::vector<std::string> way;     ///< The nodes before this one, the caller's own first.
  std::vector<std::string> proofs;  ///< One for each of them, as it was signed.
  base::json::Array details;        ///< What narrows the caller here: Details::parse_sets().
  std::uint32_t max_hops = 0;       ///< How many steps there may be in all.
};

}  // namespace tool
