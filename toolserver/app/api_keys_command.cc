#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "base/core/clock.h"
#include "base/core/text.h"
#include "base/json/json.h"
#include "toolserver/app/api_keys_file.h"
#include "toolserver/app/caller_files.h"
#include "toolserver/app/command.h"
#include "toolserver/settings/settings.h"
#include "toolserver/settings/text_rules.h"

namespace tool::app {
namespace {

namespace json = base::json;

constexpr std::chrono::days kUsualLife{90};

int fail_with(const base::Error& error) {
  fmt::print(stderr, "{}\n", base::for_terminal(error.message()));
  return 1;
}

// The file of a configuration; nothing, and said, when it names none.
std::optional<std::filesystem::path> file_of(const ConfigFlags& flags) {
  auto loaded = settings::load(flags.places(), settings::Role::kServer);
  if (!loaded) {
    fmt::print(stderr, "{}\n", loaded.error().message());
    return std::nullopt;
  }
  if (loaded->config.security.api_keys_file.empty()) {
    fmt::print(stderr, "security.api_keys_file: must name the file of the keys\n");
    return std::nullopt;
  }
  return loaded->config.security.api_keys_file;
}

base::Result<Grant> grant_of(const KeyFlags& key) {
  Grant grant;
  ASSIGN_OR_RETURN(grant.scopes, Scopes::parse(key.scope));
  for (const auto& one : grant.scopes.list()) {
    if (auto rule = settings::scope_rule(one); !rule.empty()) {
      return base::fail(base::ErrorKind::kInvalid, fmt::format("--scope {}: {}", one, rule));
    }
  }
  ASSIGN_OR_RETURN(auto details, details_in_flag(key.details));
  ASSIGN_OR_RETURN(grant.details, Details::parse(details));
  return grant;
}

}  // namespace

int add_key(const ConfigFlags& flags, const KeyFlags& key) {
  auto file = file_of(flags);
  if (!file) return 2;
  if (!session::is_key_name(key.name)) {
    fmt::print(stderr, "a name has 1 to 64 of a-z, 0-9 and '-', the first a letter\n");
    return 1;
  }
  auto grant = grant_of(key);
  if (!grant) return fail_with(grant.error());
  base::SystemClock clock;
  base::WallTime end = std::chrono::floor<std::chrono::days>(clock.now()) + kUsualLife;
  if (!key.until.empty()) {
    auto parsed = parse_end(key.until);
    if (!parsed) return fail_with(std::move(parsed).error().with_context("--until"));
    end = *parsed;
  }
  if (end <= clock.now()) {
    fmt::print(stderr, "--until: must lie in the future\n");
    return 1;
  }
  base::SystemRandom random;
  base::Secret made = session::make_named_key(key.name, random);
  auto added =
      add_api_key(*file, key.name, {base::crypto::sha256(made.reveal()), std::move(*grant), end});
  if (!added) return fail_with(added.error());
  fmt::print("{}\n", made.reveal());
  fmt::print(stderr, "until {}; shown this once; taken after SIGHUP to the service\n",
             end_text(end));
  return 0;
}

int list_keys(const ConfigFlags& flags, const ListFlags& list) {
  auto file = file_of(flags);
  if (!file) return 2;
  auto keys = read_api_keys(*file);
  if (!keys) return fail_with(keys.error());
  base::SystemClock clock;
  for (const auto& [name, key] : *keys) {
    bool ended = key.expires_at <= clock.now();
    if (list.json) {
      json::Array scopes;
      for (const auto& one : key.grant.scopes.list()) scopes.emplace_back(one);
      json::Object line{{"name", name},
                        {"until", end_text(key.expires_at)},
                        {"ended", ended},
                        {"scopes", std::move(scopes)}};
      for (auto& set : key.grant.details.json()) line["authorization_details"] = std::move(set);
      fmt::print("{}\n", json::write(line));
    } else {
      fmt::print("{:<24} {} {:<10} {}\n", name, ended ? "ended" : "until", end_text(key.expires_at),
                 grant_text(key.grant));
    }
  }
  return 0;
}

int revoke_key(const ConfigFlags& flags, const KeyFlags& key) {
  auto file = file_of(flags);
  if (!file) return 2;
  auto removed = remove_api_key(*file, key.name);
  if (!removed) return fail_with(removed.error());
  fmt::print("revoked {}\n", key.name);
  fmt::print(stderr, "SIGHUP to the service ends the sessions that it opened\n");
  return 0;
}

}  // namespace tool::app
