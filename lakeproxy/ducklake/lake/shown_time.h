#pragma once

// When a snapshot is said to have been made.

#include <cstdint>

namespace lake::ducklake {

/// Snapshots are shown one second earlier than the lake's, so that a client
/// that anchors on the start of its transaction finds them.
inline constexpr std::int64_t kShownEarlierMs = 1000;

}  // namespace lake::ducklake
