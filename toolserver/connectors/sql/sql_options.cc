#include "toolserver/connectors/sql/sql_options.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

namespace tool::connectors {
namespace {

struct Range {
  const char* name;
  std::uint64_t value;
  std::uint64_t least;
  std::uint64_t most;
};

}  // namespace

base::Status check(const SqlOptions& options) {
  const std::array ranges{
      Range{"memory_bytes", options.memory_bytes, 64ULL << 20, 1ULL << 40},
      Range{"threads", options.threads, 1, 256},
      Range{"rows", options.rows, 1, 1'000'000},
      Range{"bytes", options.bytes, 1024, 256ULL << 20},
      Range{"time", static_cast<std::uint64_t>(std::max<std::int64_t>(0, options.time.count())), 1,
            300'000},
      Range{"calls", options.calls, 1, 64},
      Range{"tables", options.tables, 1, 10'000},
      Range{"statement_bytes", options.statement_bytes, 64, 256 << 10},
      Range{"params", options.params, 1, 4096},
      Range{"param_bytes", options.param_bytes, 64, 256 << 10},
  };
  for (const Range& range : ranges) {
    if (range.value >= range.least && range.value <= range.most) continue;
    return base::fail(base::ErrorKind::kInvalid,
                      fmt::format("sql.{}: must be {} to {}", range.name, range.least, range.most));
  }
  if (options.data_dir.empty()) return {};
  std::filesystem::path folder(options.data_dir);
  std::error_code error;
  if (!folder.is_absolute() || !std::filesystem::is_directory(folder, error)) {
    return base::fail(base::ErrorKind::kInvalid,
                      "sql.data_dir: must be an absolute path of a folder that exists");
  }
  return {};
}

}  // namespace tool::connectors
