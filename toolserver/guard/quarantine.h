#pragma once

// Tools that were taken out of use, until an operator frees them. They stand in
// a file, a line each, so that a restart frees none and an operator frees one by
// deleting its line.

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <set>
#include <string_view>

#include "base/core/result.h"
#include "toolserver/model/tool_id.h"
#include "toolserver/pipeline/registry.h"

namespace tool::guard {

/// Lines of "<tool id> # <words>"; empty ones and comments are passed over.
/// Errors: kInvalid  a line that names no tool, by its number.
[[nodiscard]] base::Result<std::set<ToolId>> parse_quarantine(std::string_view text);

/// Safe to use from any thread. The registry outlives it.
class Quarantine {
 public:
  /// Without a file nothing is kept over a restart.
  Quarantine(std::filesystem::path file, pipeline::ToolRegistry& registry)
      : file_(std::move(file)), registry_(registry) {}

  /// Reads the file, which need not be there, and lets the registry hold the
  /// tools that it names and no other.
  /// Errors: kInvalid  as parse_quarantine(), or the file is over 1 MiB or
  ///         cannot be read; nothing has changed.
  [[nodiscard]] base::Status load();
  /// Takes a tool out of use, at once, and writes its line.
  /// Errors: kUnavailable  the line cannot be written; the tool is held all the
  ///         same, until a restart.
  [[nodiscard]] base::Status add(const ToolId& tool, std::string_view reason);

 private:
  base::Status write(const ToolId& tool, std::string_view reason);

  const std::filesystem::path file_;
  pipeline::ToolRegistry& registry_;
  std::mutex mutex_;
  std::set<ToolId> unwritten_;  // Held by this process alone.
};

}  // namespace tool::guard
