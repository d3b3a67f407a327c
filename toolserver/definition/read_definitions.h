#pragma once

// The [tools] section of the configuration: each [tools.NAME] in it is a tool
// "tools.NAME". Everything that can be known before a call is checked here, so
// that a service with a tool that could not work does not start.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.h"
#include "toolserver/definition/tool_definition.h"

namespace tool::definition {

/// The namespace of the tools' ids.
inline constexpr std::string_view kSpace = "tools";

struct ReadOptions {
  std::filesystem::path folder;          ///< Where relative paths begin.
  std::vector<std::string> environment;  ///< "NAME=value", for secrets that stand there.
  /// The broken rule of a secret, or empty.
  std::string_view (*secret_rule)(std::string_view secret) = nullptr;
};

struct ReadTools {
  std::vector<ToolDefinition> tools;         ///< Not to be used when there are faults.
  std::vector<std::string> faults;           ///< "tools.NAME.key: rule"; never a value.
  std::vector<std::filesystem::path> files;  ///< That were read: secrets.
};

/// Reads files of secrets and looks at programs. Safe from any thread.
[[nodiscard]] ReadTools read_definitions(const base::json::Object& section,
                                         const ReadOptions& options);

/// The keys of a tool's section, for docs/tool-configuration.md.
[[nodiscard]] std::string markdown();

}  // namespace tool::definition
