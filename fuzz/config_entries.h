#pragma once

// What every reader of settings promises of its answer, whatever it was given.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/config/sources.h"

inline bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
}

inline void check_entries(const base::config::Entries& entries, std::string_view prefix) {
  for (const auto& entry : entries.entries) {
    bool good = entry.key.starts_with(prefix) && entry.key.size() <= 80 &&
                is_printable(entry.key) && is_printable(entry.source) &&
                entry.source.size() <= 128 && entry.path.size() <= 80 && is_printable(entry.path);
    if (!good) std::abort();
  }
  for (const auto& error : entries.errors) {
    if (error.empty() || error.size() > 512 || !is_printable(error)) std::abort();
  }
  if (entries.unreadable && (entries.errors.size() != 1 || !entries.entries.empty())) std::abort();
}
