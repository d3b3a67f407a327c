#pragma once

// Versions of DuckLake's format: what the tables of a lake are called and hold.

#include <cstdint>

namespace lake::model {

/// In rising order. 0.4 and 1.0 have the same tables; see db/upgrade for what 1.1 adds.
enum class LakeFormat : std::uint8_t { k0_4, k1_0, k1_1 };

}  // namespace lake::model
