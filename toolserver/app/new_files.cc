#include "toolserver/app/new_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <span>

#include "base/crypto/encoding.h"

namespace tool::app {
namespace {

std::string random_text(base::Random& random, std::size_t bytes) {
  std::string raw(bytes, '\0');
  random.fill(std::as_writable_bytes(std::span(raw)));
  return base::crypto::to_base64url(raw);
}

}  // namespace

base::Status write_new(const std::string& path, std::string_view text, mode_t mode) {
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file < 0) {
    return base::fail(base::ErrorKind::kInvalid,
                      fmt::format("{}: cannot be made, or exists already", path));
  }
  bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                 ::fsync(file) == 0;
  ::close(file);
  if (written) return {};
  return base::fail(base::ErrorKind::kUnavailable, fmt::format("{}: cannot be written", path));
}

std::string fresh_secrets(base::Random& random) {
  return fmt::format("SCP_API_KEY={}\nSCP_SECRET_KEY={}\nSCP_JWT_SECRET={}\nSCP_KDF_SALT={}\n",
                     random_text(random, 32), random_text(random, 36), random_text(random, 36),
                     random_text(random, 18));
}

}  // namespace tool::app
