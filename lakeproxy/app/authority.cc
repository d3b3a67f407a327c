#include "lakeproxy/app/authority.h"

#include "base/config/file_text.h"

namespace lake::app {
namespace {

constexpr std::string_view kFile = "LAKEPROXY_OAUTH_CLIENTS_FILE";

base::Error broken(std::string_view setting, std::string rule) {
  return base::fail(base::ErrorKind::kInvalid, std::move(rule)).with_context(setting);
}

auth::ProviderOptions provider_of(const settings::Provider& settings) {
  const bool es256 = settings.algorithm == settings::TokenAlgorithm::kEs256;
  return {.issuer = settings.issuer,
          .audience = settings.audience,
          .algorithm = es256 ? base::jose::Algorithm::kEs256 : base::jose::Algorithm::kRs256,
          .keys = {.url = settings.keys_url, .ca_file = settings.ca_file},
          .claims = {.roles = settings.roles_claim, .account = settings.account_claim}};
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

base::Status Authority::make_tokens(const settings::Auth& settings, const base::Clock& clock,
                                    base::Random& random) {
  RETURN_IF_ERROR(read_clients(settings));
  // A list that has become empty must not open the server.
  if (clients_.empty()) return broken("LAKEPROXY_OAUTH_CLIENTS", "has no client");
  // Under a name that other lakes have too, a statement for one would be good for all.
  if (clients_.has_statement_keys() && settings.issuer == settings::kDefaultIssuer) {
    return broken("LAKEPROXY_OAUTH_ISSUER",
                  "must be a name of this lake's own where a client has statement_keys");
  }
  if (clients_.has_stated_users() && settings.provider.issuer.empty()) {
    return broken("LAKEPROXY_OIDC_ISSUER",
                  "must be set where a client has users: it says whose users they are");
  }
  auto tokens = auth::AccessTokens::create({.issuer = settings.issuer,
                                            .secret = settings.jwt_secret,
                                            .other_secret = settings.jwt_secret_other,
                                            .lifetime = settings.token_lifetime},
                                           clients_, clock, random);
  if (!tokens) return std::move(tokens).error().with_context("LAKEPROXY_OAUTH_JWT_SECRET");
  tokens_.emplace(std::move(*tokens));
  grants_.emplace(clients_, *tokens_, settings.token_renewal, settings.provider.issuer);
  guesses_.emplace(settings.max_guesses);
  return {};
}

base::Result<std::unique_ptr<Authority>> Authority::create(const settings::Auth& settings,
                                                           const base::Clock& clock,
                                                           base::Random& random) {
  std::unique_ptr<Authority> made;
  if (!settings.is_on()) return made;
  made.reset(new Authority);
  if (settings.has_clients()) RETURN_IF_ERROR(made->make_tokens(settings, clock, random));
  if (!settings.provider.issuer.empty()) made->provider_ = provider_of(settings.provider);
  return made;
}

}  // namespace lake::app
