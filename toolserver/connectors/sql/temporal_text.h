#pragma once

// The engine counts days, microseconds and months from 1970; JSON has none of
// it. Everything becomes ISO 8601 text, whole: no time is rounded, and years
// outside 0000 to 9999 are written with a sign.
// Source: ISO 8601-1:2019, 5.2 to 5.5.

#include <duckdb.h>

#include <cstdint>
#include <string>

namespace tool::connectors {

/// "2026-11-21"; "infinity" and "-infinity" for the engine's two marks.
[[nodiscard]] std::string date_text(std::int32_t days);

enum class Zone : std::uint8_t { kNone, kUtc };

/// "2026-11-21T13:53:05.25", with "Z" behind it in kUtc; as many digits as the
/// fraction has. `per_second`: 1, 10^3, 10^6 or 10^9.
[[nodiscard]] std::string timestamp_text(std::int64_t ticks, std::int64_t per_second, Zone zone);

/// "13:53:05.25"; 24:00:00 is a time to the engine.
[[nodiscard]] std::string time_text(std::int64_t ticks, std::int64_t per_second);

/// "13:53:05+02:00", seconds of the offset only where it has some.
[[nodiscard]] std::string time_tz_text(std::int64_t micros, std::int32_t offset_seconds);

/// A duration: "P1Y2M3DT4H5M6.7S"; a part that is negative has its own sign.
/// Months, days and time stay apart, as no one of them is so many of another.
[[nodiscard]] std::string interval_text(const duckdb_interval& interval);

}  // namespace tool::connectors
