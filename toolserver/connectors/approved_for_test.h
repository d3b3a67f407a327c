#pragma once

// Connectors take approved calls only, and their tests run without a pipeline
// that could approve one. Included by tests alone.

#include <utility>

#include "toolserver/model/invocation.h"

namespace tool {

class ApprovedForTest {
 public:
  [[nodiscard]] static Approved<Invocation> make(Invocation call) {
    return Approved<Invocation>(std::move(call));
  }
};

}  // namespace tool
