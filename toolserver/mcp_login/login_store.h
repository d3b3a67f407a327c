#pragma once

// The file that keeps one server's login between a person's sign-in and the
// service's calls. It holds tokens: nobody else may read it, and a file or a
// folder that somebody else could have read or written is not taken.

#include <filesystem>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/core/secret.h"
#include "toolserver/mcp_login/challenge.h"
#include "toolserver/mcp_login/metadata.h"

namespace tool::login {

/// What is known of one server's login. Of use for this server and this issuer
/// alone.
struct StoredLogin {
  std::string server_url;
  std::string issuer;
  Registration client;          ///< As the issuer registered us; empty where we are known to it.
  std::string redirect_uri;     ///< That was registered.
  base::Secret access;          ///< Empty: nobody signed in, or it was refused.
  base::WallTime expires_at{};  ///< Of `access`; the beginning of time where nobody said.
  base::Secret refresh;
  Scopes requested;  ///< With the last token.
  Scopes wanted;     ///< Beyond them: the server asked for these, and nobody was there.
};

/// The file of one bridge. Every call reads or writes the disk and blocks.
class LoginStore {
 public:
  /// `folder` is made, with mode 0700, when it is not there; its parent must be.
  /// Errors: kUnavailable  it cannot be made; kForbidden  it is not this user's
  ///         alone.
  [[nodiscard]] static base::Result<LoginStore> open(const std::filesystem::path& folder,
                                                     const std::string& bridge);

  /// Nothing when there is no file.
  /// Errors: kForbidden  it is not this user's alone; kUnavailable  it cannot be
  ///         read; kCorrupt  it is no such file. Messages hold nothing of it.
  [[nodiscard]] base::Result<std::optional<StoredLogin>> read() const;
  /// Errors: kUnavailable  it cannot be written; what was there still is.
  [[nodiscard]] base::Status write(const StoredLogin& login) const;
  /// Errors: kNotFound  there is no file; kUnavailable.
  [[nodiscard]] base::Status remove() const;

  [[nodiscard]] std::filesystem::path path() const { return folder_ / (bridge_ + ".json"); }

 private:
  LoginStore(std::filesystem::path folder, std::string bridge)
      : folder_(std::move(folder)), bridge_(std::move(bridge)) {}

  std::filesystem::path folder_;
  std::string bridge_;
};

}  // namespace tool::login
