#pragma once

// Writing a line must not hold up the event loop, not even when the reader of
// stderr has stopped. A LogOutput has one thread that writes and a bounded
// queue before it; when the queue is full the oldest lines go and are counted.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/log/line.h"

namespace base::log {

struct OutputOptions {
  Format format = Format::kJson;
  Level level = Level::kInfo;  ///< Lines below it are not built.
  std::size_t queue = 8192;    ///< Lines that may wait.
  int descriptor = 2;          ///< Borrowed; stderr unless a test says else.
};

/// Owns the writing thread. The destructor writes what waits. Safe to use from
/// any thread; must outlive its loggers and be outlived by the clock.
class LogOutput {
 public:
  LogOutput(OutputOptions options, const Clock& clock);
  ~LogOutput();
  LogOutput(const LogOutput&) = delete;
  LogOutput& operator=(const LogOutput&) = delete;

  [[nodiscard]] bool enabled(Level level) const { return level >= level_; }
  /// Lines that were lost because the queue was full.
  [[nodiscard]] std::uint64_t dropped() const;

 private:
  friend class Logger;
  struct Writer;
  void write(Level level, std::string_view request_id, std::string_view message,
             std::span<const Field> fields);

  Level level_;
  Format format_;
  const Clock& clock_;
  std::unique_ptr<Writer> writer_;
};

/// A small handle on an output, with the request it speaks for. Copied by
/// value; the output must outlive it.
///   log.info("commit", {{"table", name}, {"ms", 3.2}});
/// `message` is a fixed sentence; what varies goes into fields. Never a token,
/// a parameter of SQL or a row.
class Logger {
 public:
  explicit Logger(LogOutput& output) : output_(&output) {}

  /// The same output, each line with this id as 16 hexadecimal digits.
  [[nodiscard]] Logger for_request(std::uint64_t request_id) const;
  /// The same output, each line with `request_id` as it stands.
  [[nodiscard]] Logger for_request(std::string request_id) const;

  [[nodiscard]] bool enabled(Level level) const { return output_->enabled(level); }

  void debug(std::string_view message, Fields fields = {}) const {
    write(Level::kDebug, message, fields);
  }
  void info(std::string_view message, Fields fields = {}) const {
    write(Level::kInfo, message, fields);
  }
  void warning(std::string_view message, Fields fields = {}) const {
    write(Level::kWarning, message, fields);
  }
  void error(std::string_view message, Fields fields = {}) const {
    write(Level::kError, message, fields);
  }

 private:
  void write(Level level, std::string_view message, Fields fields) const {
    if (enabled(level))
      output_->write(level, request_id_, message, {fields.begin(), fields.size()});
  }

  LogOutput* output_;
  std::string request_id_;
};

}  // namespace base::log
