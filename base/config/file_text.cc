#include "base/config/file_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <system_error>

namespace base::config {
namespace {

constexpr std::size_t kMaxFileBytes = 1 << 20;
constexpr std::size_t kMaxSecretBytes = 8 << 10;

struct Descriptor {
  int fd;
  explicit Descriptor(int opened) : fd(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Error rule(std::string_view text) { return fail(ErrorKind::kInvalid, std::string(text)); }

}  // namespace

FileText read_file(const std::filesystem::path& path) {
  std::error_code ec;
  auto status = std::filesystem::status(path, ec);
  if (!std::filesystem::exists(status)) {
    bool missing = status.type() == std::filesystem::file_type::not_found;
    return {missing ? FileText::State::kMissing : FileText::State::kRefused, {}};
  }
  if (!std::filesystem::is_regular_file(status)) return {FileText::State::kRefused, {}};
  std::ifstream in(path, std::ios::binary);
  std::string text(kMaxFileBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  if (in.bad() || !in.eof() || text.size() > kMaxFileBytes) return {FileText::State::kRefused, {}};
  return {FileText::State::kRead, std::move(text)};
}

Result<std::string> read_secret_file(const std::filesystem::path& path) {
  // Opened first and asked afterwards, so that both speak of the same file;
  // without blocking, for it may be a pipe.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts{};
  if (file.fd < 0 || ::fstat(file.fd, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return rule("must name a readable file");
  }
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return rule("must name a file that group and others have no access to (mode 0600 or 0400)");
  }
  if (facts.st_uid != ::geteuid() && facts.st_uid != 0) {
    return rule("must name a file of this user or of root");
  }
  std::string text(kMaxSecretBytes + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    auto got = ::read(file.fd, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return rule("must name a readable file");
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kMaxSecretBytes) return rule("must name a file of at most 8 KiB");
  text.resize(size);
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace base::config
