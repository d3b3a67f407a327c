#pragma once

// A pool whose round trips are counted.

#include <memory>

#include "base/postgres/session.h"
#include "lakeproxy/measure/wait_meter.h"

namespace lake::measure {

/// `pool`, with each round trip told to `meter`, which outlives it.
[[nodiscard]] std::unique_ptr<base::pg::Pool> measured(std::unique_ptr<base::pg::Pool> pool,
                                                       WaitMeter& meter);

}  // namespace lake::measure
