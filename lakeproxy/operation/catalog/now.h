#pragma once

// The clock's time as metadata has it.

#include <chrono>

#include "base/core/clock.h"
#include "lakeproxy/iceberg/metadata/snapshot.h"

namespace lake::operation {

[[nodiscard]] inline model::TimestampMs now_ms(const base::Clock& clock) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock.now().time_since_epoch())
      .count();
}

}  // namespace lake::operation
