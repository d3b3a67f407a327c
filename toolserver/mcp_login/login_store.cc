#include "toolserver/mcp_login/login_store.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/config/file_text.h"
#include "base/files/private_file.h"
#include "base/json/fields.h"

namespace tool::login {
namespace {

namespace json = base::json;
using base::ErrorKind;
using base::fail;
using std::filesystem::path;

constexpr std::int64_t kVersion = 1;

base::Error unavailable(const path& where) {
  return fail(ErrorKind::kUnavailable, fmt::format("{}: {}", where.string(), std::strerror(errno)));
}

base::Error corrupt(const path& where) {
  return fail(ErrorKind::kCorrupt, where.string() + ": is no file of a login; sign in again");
}

std::string text_of(const StoredLogin& login) {
  auto micros = login.expires_at.time_since_epoch().count();
  json::Object out{{"version", kVersion},
                   {"server_url", login.server_url},
                   {"issuer", login.issuer},
                   {"client_id", login.client.client_id},
                   {"client_secret", login.client.client_secret.reveal()},
                   {"redirect_uri", login.redirect_uri},
                   {"access_token", login.access.reveal()},
                   {"expires_at_us", micros},
                   {"refresh_token", login.refresh.reveal()},
                   {"requested", write_scopes(login.requested)},
                   {"wanted", write_scopes(login.wanted)}};
  if (login.client.auth) out["client_auth"] = boost::json::string(name(*login.client.auth));
  return json::write(out);
}

base::Result<StoredLogin> parse(std::string_view text) {
  ASSIGN_OR_RETURN(auto value, json::parse(text, {.bytes = 1 << 20}));
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(value, ""));
  ASSIGN_OR_RETURN(auto version, fields.int64("version"));
  if (version != kVersion) return fail(ErrorKind::kInvalid, "version: must be 1");
  StoredLogin out;
  ASSIGN_OR_RETURN(out.server_url, fields.string("server_url"));
  ASSIGN_OR_RETURN(out.issuer, fields.string("issuer"));
  ASSIGN_OR_RETURN(out.client.client_id, fields.string("client_id"));
  ASSIGN_OR_RETURN(out.redirect_uri, fields.string("redirect_uri"));
  for (auto [member, secret] : {std::pair{"client_secret", &out.client.client_secret},
                                {"access_token", &out.access},
                                {"refresh_token", &out.refresh}}) {
    ASSIGN_OR_RETURN(auto found, fields.string(member));
    *secret = base::Secret(std::move(found));
  }
  ASSIGN_OR_RETURN(auto auth, fields.opt_string("client_auth"));
  if (auth) out.client.auth = client_auth_of(*auth);
  ASSIGN_OR_RETURN(auto expires, fields.int64("expires_at_us"));
  out.expires_at = base::WallTime(std::chrono::microseconds(expires));
  for (auto [member, scopes] : {std::pair{"requested", &out.requested}, {"wanted", &out.wanted}}) {
    ASSIGN_OR_RETURN(auto found, fields.string(member));
    auto words = read_scopes(found);
    if (!words) return fail(ErrorKind::kInvalid, fields.path_of(member));
    *scopes = std::move(*words);
  }
  return out;
}

}  // namespace

base::Result<LoginStore> LoginStore::open(const std::filesystem::path& folder,
                                          const std::string& bridge) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return unavailable(folder);
  struct stat facts{};
  if (::lstat(folder.c_str(), &facts) != 0) return unavailable(folder);
  bool is_ours = facts.st_uid == ::geteuid() || ::geteuid() == 0;
  if (!S_ISDIR(facts.st_mode) || !is_ours || (facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return fail(ErrorKind::kForbidden,
                folder.string() + ": must be a folder of this user, closed to others (0700)");
  }
  return LoginStore(folder, bridge);
}

base::Result<std::optional<StoredLogin>> LoginStore::read() const {
  auto file = base::config::read_file(path());
  using State = base::config::FileText::State;
  if (file.state == State::kMissing) return std::optional<StoredLogin>();
  if (file.state != State::kRead) {
    return fail(ErrorKind::kUnavailable, path().string() + ": cannot be read");
  }
  if (auto rule = base::config::secret_access_rule(file); !rule.empty()) {
    return fail(ErrorKind::kForbidden, fmt::format("{}: {}", path().string(), rule));
  }
  auto parsed = parse(file.text);
  // What the parser says could repeat a part of the text.
  if (!parsed) return corrupt(path());
  return std::optional(std::move(*parsed));
}

base::Status LoginStore::write(const StoredLogin& login) const {
  return base::files::replace_private_file(path(), text_of(login));
}

base::Status LoginStore::remove() const {
  if (::unlink(path().c_str()) == 0) return {};
  if (errno == ENOENT) return fail(ErrorKind::kNotFound, path().string() + ": there is no login");
  return unavailable(path());
}

}  // namespace tool::login
