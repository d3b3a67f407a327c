#include "base/log/logger.h"

#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <cerrno>

namespace base::log {
namespace {

// Writes each payload as it is. A line that cannot be written is lost: there
// is no other place to say so, and a full disk must not end the server.
class DescriptorSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit DescriptorSink(int descriptor) : descriptor_(descriptor) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    std::string_view rest(message.payload.data(), message.payload.size());
    while (!rest.empty()) {
      ssize_t n = ::write(descriptor_, rest.data(), rest.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  void flush_() override {}

 private:
  int descriptor_;
};

}  // namespace

// The pool's destructor works off the queue and joins the thread; only then may
// the logger, whose sink that thread writes to, go.
struct LogOutput::Writer {
  Writer(std::size_t queue, int descriptor)
      : pool(std::make_shared<spdlog::details::thread_pool>(queue, 1)),
        logger(std::make_shared<spdlog::async_logger>(
            "", std::make_shared<DescriptorSink>(descriptor), pool,
            spdlog::async_overflow_policy::overrun_oldest)) {
    logger->set_level(spdlog::level::trace);
  }
  ~Writer() { pool.reset(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  std::shared_ptr<spdlog::details::thread_pool> pool;
  std::shared_ptr<spdlog::async_logger> logger;
};

LogOutput::LogOutput(OutputOptions options, const Clock& clock)
    : level_(options.level),
      format_(options.format),
      clock_(clock),
      writer_(std::make_unique<Writer>(options.queue, options.descriptor)) {}

LogOutput::~LogOutput() = default;

std::uint64_t LogOutput::dropped() const { return writer_->pool->overrun_counter(); }

void LogOutput::write(Level level, std::string_view request_id, std::string_view message,
                      std::span<const Field> fields) {
  std::string line = format_line(format_, {clock_.now(), level, message, request_id, fields});
  writer_->logger->log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
}

Logger Logger::for_request(std::uint64_t request_id) const {
  return for_request(fmt::format("{:016x}", request_id));
}

Logger Logger::for_request(std::string request_id) const {
  Logger out(*output_);
  out.request_id_ = std::move(request_id);
  return out;
}

}  // namespace base::log
