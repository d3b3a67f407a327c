// `lakeproxy init`: the administrator of a fresh install. Its secret is shown once; what is kept is
// a hash of it, and the secret that tokens are signed with.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/config/file_text.h"
#include "base/core/clock.h"
#include "base/crypto/encoding.h"
#include "base/crypto/password_hash.h"
#include "base/files/descriptor.h"
#include "base/json/json.h"
#include "lakeproxy/app/subcommands.h"
#include "lakeproxy/auth/clients.h"

namespace lake::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kClientSecretBytes = 24;
constexpr std::size_t kTokenSecretBytes = 48;

std::string random_text(std::size_t bytes) {
  base::SystemRandom random;
  std::vector<std::byte> raw(bytes);
  random.fill(raw);
  return base::crypto::to_base64url({reinterpret_cast<const char*>(raw.data()), raw.size()});
}

int fail(const std::string& message) {
  fmt::print(stderr, "lakeproxy init: {}\n", message);
  return 1;
}

// Nobody else may read it from its first byte on. Empty: done; else what went wrong.
std::string add_to_file(const fs::path& path, int flags, std::string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
  if (file < 0) return fmt::format("{}: {}", path.string(), std::strerror(errno));
  const bool written = base::files::write_all(file, text) && ::fsync(file) == 0;
  const int error = errno;
  ::close(file);
  return written ? "" : fmt::format("{}: {}", path.string(), std::strerror(error));
}

std::string clients_text(const InitOptions& options, const std::string& secret) {
  base::SystemRandom random;
  const base::json::Object client{{"id", options.client},
                                  {"secret", base::crypto::hash_password(secret, random)},
                                  {"scope", "*"}};
  return base::json::write(base::json::Array{client}) + "\n";
}

// What is wrong with a .env that is there already; nothing: settings can be added to it.
std::string settings_file_fault(const base::config::FileText& file) {
  using State = base::config::FileText::State;
  if (file.state == State::kMissing) return "";
  if (file.state == State::kRefused) return "cannot be read";
  if (auto rule = base::config::secret_access_rule(file); !rule.empty()) return std::string(rule);
  if (file.text.contains("LAKEPROXY_OAUTH_")) return "has clients or their secret already";
  return "";
}

}  // namespace

int init(const InitOptions& options) {
  std::error_code error;
  const fs::path folder = fs::absolute(options.folder, error);
  const fs::path clients = folder / "clients.json";
  const fs::path settings = folder / ".env";
  const auto there = base::config::read_file(settings);
  if (auto fault = settings_file_fault(there); !fault.empty()) {
    return fail(fmt::format("{}: {}", settings.string(), fault));
  }
  const std::string secret = random_text(kClientSecretBytes);
  const std::string list = clients_text(options, secret);
  if (auto good = auth::Clients().add_json(list); !good) return fail(good.error().message());
  if (auto fault = add_to_file(clients, O_EXCL, list); !fault.empty()) return fail(fault);
  const std::string lines = fmt::format(
      "{}LAKEPROXY_OAUTH_CLIENTS_FILE={}\nLAKEPROXY_OAUTH_JWT_SECRET={}\nLAKEPROXY_REQUIRE_AUTH="
      "1\nLAKEPROXY_GOVERNANCE_FAIL_CLOSED=1\n",
      there.text.empty() || there.text.ends_with('\n') ? "" : "\n", clients.string(),
      random_text(kTokenSecretBytes));
  if (auto fault = add_to_file(settings, O_APPEND, lines); !fault.empty()) {
    fs::remove(clients, error);
    return fail(fault);
  }
  fmt::print(
      "The administrator, shown this once; {} has a hash of the secret:\n"
      "{}:{}\n"
      "Settings are in {}; `lakeproxy serve` reads them when it starts in that folder.\n",
      clients.string(), options.client, secret, settings.string());
  return 0;
}

}  // namespace lake::app
