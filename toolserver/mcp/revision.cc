#include "toolserver/mcp/revision.h"

#include <algorithm>
#include <cstdlib>

namespace tool::mcp {

std::string_view name(Revision revision) {
  switch (revision) {
    case Revision::k2025_03_26: return "2025-03-26";
    case Revision::k2025_06_18: return "2025-06-18";
    case Revision::k2025_11_25: return "2025-11-25";
    case Revision::k2026_07_28: return "2026-07-28";
  }
  std::abort();
}

std::optional<Revision> revision_of(std::string_view text) {
  const auto* found =
      std::ranges::find_if(kRevisions, [&](Revision one) { return name(one) == text; });
  if (found == kRevisions.end()) return std::nullopt;
  return *found;
}

}  // namespace tool::mcp
