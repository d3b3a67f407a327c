#include "base/config/file_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

namespace base::config {
namespace {

constexpr std::size_t kMaxFileBytes = 1 << 20;
constexpr std::size_t kMaxSecretBytes = 8 << 10;

// A file that is open, and what was true of it then.
struct Opened {
  explicit Opened(int descriptor) : fd(descriptor) {}
  Opened(Opened&& other) noexcept : fd(std::exchange(other.fd, -1)), facts(other.facts) {}
  Opened& operator=(Opened&&) = delete;
  ~Opened() {
    if (fd >= 0) ::close(fd);
  }
  int fd;
  struct stat facts{};
};

// Opened first and asked afterwards, so that both speak of the same file;
// without blocking, for it may be a pipe.
std::optional<Opened> open_file(const std::filesystem::path& path) {
  Opened file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd < 0 || ::fstat(file.fd, &file.facts) != 0) return std::nullopt;
  if (!S_ISREG(file.facts.st_mode)) return std::nullopt;
  return file;
}

std::optional<std::string> read_up_to(const Opened& file, std::size_t most) {
  std::string text(most + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    auto got = ::read(file.fd, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > most) return std::nullopt;
  text.resize(size);
  return text;
}

Error rule(std::string_view text) { return fail(ErrorKind::kInvalid, std::string(text)); }

}  // namespace

FileText read_file(const std::filesystem::path& path) {
  std::error_code ec;
  auto status = std::filesystem::status(path, ec);
  if (status.type() == std::filesystem::file_type::not_found) {
    return {FileText::State::kMissing, {}};
  }
  auto opened = open_file(path);
  if (!opened) return {FileText::State::kRefused, {}};
  auto text = read_up_to(*opened, kMaxFileBytes);
  if (!text) return {FileText::State::kRefused, {}};
  return {FileText::State::kRead, std::move(*text), opened->facts.st_mode, opened->facts.st_uid};
}

std::string_view write_access_rule(const FileText& file) {
  if (file.owner != ::geteuid() && file.owner != 0) return "must be a file of this user or of root";
  if ((file.mode & (S_IWGRP | S_IWOTH)) != 0) {
    return "must not be open to be written by group or others";
  }
  return {};
}

std::string_view secret_access_rule(const FileText& file) {
  if ((file.mode & (S_IRWXG | S_IRWXO)) != 0) {
    return "must be closed to group and others (mode 0600 or 0400)";
  }
  return {};
}

Result<std::string> read_secret_file(const std::filesystem::path& path) {
  auto opened = open_file(path);
  if (!opened) return rule("must name a readable file");
  FileText file{FileText::State::kRead, {}, opened->facts.st_mode, opened->facts.st_uid};
  if (!secret_access_rule(file).empty()) {
    return rule("must name a file that group and others have no access to (mode 0600 or 0400)");
  }
  if (!write_access_rule(file).empty()) return rule("must name a file of this user or of root");
  auto text = read_up_to(*opened, kMaxSecretBytes);
  if (!text) return rule("must name a readable file of at most 8 KiB");
  if (text->ends_with('\n')) text->pop_back();
  if (text->ends_with('\r')) text->pop_back();
  return std::move(*text);
}

}  // namespace base::config
