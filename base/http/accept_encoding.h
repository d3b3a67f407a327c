#pragma once

// Which content codings a client takes. The field is a list with weights, and a
// name that is not in it may still be meant: "*" stands for the others, and no
// coding at all ("identity") is taken unless it is refused by name.

#include "base/http/message.h"

namespace base::http {

struct AcceptedCodings {
  bool gzip = false;     ///< It is taken, and at least as gladly as no coding.
  bool identity = true;  ///< No coding is taken.

  friend bool operator==(const AcceptedCodings&, const AcceptedCodings&) = default;
};

/// What all Accept-Encoding fields say together. Without one gzip is not taken: the
/// client may have any coding sent to it then, but few that say nothing can read one.
/// A member that breaks the grammar counts as absent; of one that is named twice the
/// lower weight holds. "x-gzip" is gzip.
/// Source: RFC 9110, sections 8.4.1.3, 12.4.2 and 12.5.3.
[[nodiscard]] AcceptedCodings accepted_codings(const Headers& headers);

}  // namespace base::http
