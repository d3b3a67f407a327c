#include "lakeproxy/app/authority.h"

#include "base/config/file_text.h"

namespace lake::app {
namespace {

constexpr std::string_view kFile = "LAKEPROXY_OAUTH_CLIENTS_FILE";

base::Error broken(std::string_view setting, std::string rule) {
  return base::fail(base::ErrorKind::kInvalid, std::move(rule)).with_context(setting);
}

}  // namespace

base::Status Authority::read_clients(const settings::Auth& settings) {
  if (auto added = clients_.add_entries(settings.clients.reveal()); !added) {
    return std::move(added).error().with_context("LAKEPROXY_OAUTH_CLIENTS");
  }
  if (settings.clients_file.empty()) return {};
  const auto file = base::config::read_file(settings.clients_file);
  if (file.state != base::config::FileText::State::kRead) {
    return broken(kFile, "must be a readable file of at most 1 MiB");
  }
  // Whoever may write it may come in.
  if (auto rule = base::config::write_access_rule(file); !rule.empty()) {
    return broken(kFile, std::string(rule));
  }
  file_is_open_ = !base::config::secret_access_rule(file).empty();
  if (auto added = clients_.add_json(file.text); !added) {
    return std::move(added).error().with_context(kFile);
  }
  return {};
}

base::Result<std::unique_ptr<Authority>> Authority::create(const settings::Auth& settings,
                                                           const base::Clock& clock,
                                                           base::Random& random) {
  std::unique_ptr<Authority> made;
  if (!settings.is_on()) return made;
  made.reset(new Authority);
  RETURN_IF_ERROR(made->read_clients(settings));
  // A list that has become empty must not open the server.
  if (made->clients_.empty()) return broken("LAKEPROXY_OAUTH_CLIENTS", "has no client");
  auto tokens = auth::AccessTokens::create({.issuer = settings.issuer,
                                            .secret = settings.jwt_secret,
                                            .other_secret = settings.jwt_secret_other,
                                            .lifetime = settings.token_lifetime},
                                           made->clients_, clock, random);
  if (!tokens) return std::move(tokens).error().with_context("LAKEPROXY_OAUTH_JWT_SECRET");
  made->tokens_.emplace(std::move(*tokens));
  made->grants_.emplace(made->clients_, *made->tokens_);
  return made;
}

}  // namespace lake::app
