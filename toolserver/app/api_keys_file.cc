#include "toolserver/app/api_keys_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "base/config/file_text.h"
#include "base/crypto/encoding.h"
#include "base/files/descriptor.h"
#include "toolserver/app/caller_files.h"
#include "toolserver/app/new_files.h"

namespace tool::app {
namespace {

using base::ErrorKind;
using base::fail;
using session::NamedKey;
using session::NamedKeys;

constexpr std::string_view kUntil = "until=";
constexpr std::string_view kHash = "sha256:";
constexpr mode_t kOwnerOnly = 0600;

// The next word of `rest`, which goes on behind it.
std::string_view next_word(std::string_view& rest) {
  std::size_t begin = std::min(rest.find_first_not_of(' '), rest.size());
  rest.remove_prefix(begin);
  std::string_view word = rest.substr(0, rest.find(' '));
  rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  return word;
}

// Answers the broken rule, or nothing.
std::string read_line(std::string_view line, NamedKeys& keys) {
  std::string_view name = next_word(line);
  if (!session::is_key_name(name)) return "must begin with a name of a-z, 0-9 and '-'";
  NamedKey key;
  std::string_view until = next_word(line);
  auto end = until.starts_with(kUntil)
                 ? parse_end(until.substr(kUntil.size()))
                 : base::Result<base::WallTime>(fail(ErrorKind::kInvalid, "no until"));
  if (!end) return "must say until=YYYY-MM-DD or until=never after the name";
  key.expires_at = *end;
  std::string_view hash = next_word(line);
  auto bytes = hash.starts_with(kHash)
                   ? base::crypto::from_hex(hash.substr(kHash.size()), key.hash.size())
                   : base::Result<std::string>(fail(ErrorKind::kInvalid, "no hash"));
  if (!bytes || bytes->size() != key.hash.size()) return "must have sha256: and 64 hex digits";
  std::memcpy(key.hash.data(), bytes->data(), key.hash.size());
  auto grant = read_grant(line);
  if (!grant) return grant.error().message();
  key.grant = std::move(*grant);
  bool is_new = keys.try_emplace(std::string(name), std::move(key)).second;
  return is_new ? "" : "names a key a second time";
}

std::string line_of(const std::string& name, const NamedKey& key) {
  return fmt::format("{} {}{} {}{} {}\n", name, kUntil, end_text(key.expires_at), kHash,
                     base::crypto::to_hex(base::crypto::view(key.hash)), grant_text(key.grant));
}

base::Error unavailable(const std::filesystem::path& path) {
  return fail(ErrorKind::kUnavailable, fmt::format("{}: {}", path.string(), std::strerror(errno)));
}

// Held while a file is read and written anew.
class Lock {
 public:
  explicit Lock(const std::filesystem::path& path)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kOwnerOnly)),
        held_(file_.valid()) {
    while (held_ && ::flock(file_.get(), LOCK_EX) != 0) held_ = errno == EINTR;
  }
  [[nodiscard]] bool held() const { return held_; }

 private:
  base::files::Descriptor file_;
  bool held_;
};

base::Status put(const std::filesystem::path& path, std::string_view text) {
  struct stat facts{};
  mode_t mode = ::stat(path.c_str(), &facts) == 0 ? facts.st_mode & 0777 : kOwnerOnly;
  auto next = path.string() + ".new";
  ::unlink(next.c_str());  // Of one that was cut off.
  RETURN_IF_ERROR(write_new(next, text, mode));
  return ::rename(next.c_str(), path.c_str()) == 0 ? base::Status()
                                                   : base::Status(unavailable(path));
}

}  // namespace

base::Result<base::WallTime> parse_end(std::string_view text) {
  if (text == "never") return base::WallTime::max();
  auto number = [&](std::size_t at, std::size_t size) {
    int value = -1;
    auto [end, error] = std::from_chars(text.data() + at, text.data() + at + size, value);
    return error == std::errc() && end == text.data() + at + size ? value : -1;
  };
  bool formed = text.size() == 10 && text[4] == '-' && text[7] == '-';
  if (formed) {
    using namespace std::chrono;  // NOLINT: a date.
    int y = number(0, 4);
    int m = number(5, 2);
    int d = number(8, 2);
    year_month_day day{year(y), month(static_cast<unsigned>(m)),
                       std::chrono::day(static_cast<unsigned>(d))};
    if (y >= 1970 && m > 0 && d > 0 && day.ok()) return base::WallTime(sys_days(day));
  }
  return fail(ErrorKind::kInvalid, "must be a day such as 2027-01-31, or never");
}

std::string end_text(base::WallTime end) {
  if (end == base::WallTime::max()) return "never";
  std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(end));
  return fmt::format("{:04}-{:02}-{:02}", int(day.year()), unsigned(day.month()),
                     unsigned(day.day()));
}

base::Result<NamedKeys> read_api_keys(const std::filesystem::path& path) {
  NamedKeys keys;
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error)) return keys;
  RETURN_IF_ERROR(
      for_each_line(path, [&](std::string_view line) { return read_line(line, keys); }));
  return keys;
}

base::Status add_api_key(const std::filesystem::path& path, const std::string& name,
                         const NamedKey& key) {
  Lock lock(path.string() + ".lock");
  if (!lock.held()) return unavailable(path);
  ASSIGN_OR_RETURN(auto keys, read_api_keys(path));
  if (keys.contains(name)) {
    return fail(ErrorKind::kAlreadyExists, fmt::format("{}: there is such a key", name));
  }
  std::string text = base::config::read_file(path).text;
  if (!text.empty() && text.back() != '\n') text += '\n';
  return put(path, text + line_of(name, key));
}

base::Status remove_api_key(const std::filesystem::path& path, const std::string& name) {
  Lock lock(path.string() + ".lock");
  if (!lock.held()) return unavailable(path);
  ASSIGN_OR_RETURN(auto keys, read_api_keys(path));
  if (!keys.contains(name)) {
    return fail(ErrorKind::kNotFound, fmt::format("{}: there is no such key", name));
  }
  std::string kept;
  std::string text = base::config::read_file(path).text;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    std::string_view words = line;
    if (next_word(words) != name) kept.append(line).push_back('\n');
  }
  return put(path, kept);
}

}  // namespace tool::app
