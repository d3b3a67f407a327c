#include <fmt/format.h>
#include <sys/types.h>

#include <cstdio>

#include "base/core/clock.h"
#include "base/crypto/signing_key.h"
#include "toolserver/app/command.h"
#include "toolserver/app/new_files.h"
#include "toolserver/app/secure_server.h"
#include "toolserver/app/session_setup.h"

namespace tool::app {
namespace {

constexpr mode_t kOwnerOnly = 0600;
constexpr mode_t kEverybodyReads = 0644;

int say(const base::Error& error) {
  fmt::print(stderr, "{}\n", error.message());
  return 1;
}

int print_secrets() {
  base::SystemRandom random;
  fmt::print("{}", fresh_secrets(random));
  return 0;
}

// The thumbprint of the client's key; empty where none is named.
base::Result<std::string> holder_of(const MintFlags& mint) {
  if (mint.holder.empty()) return std::string();
  ASSIGN_OR_RETURN(std::string pem, read_file(mint.holder));
  auto key = base::crypto::VerifyKey::from_pem(pem);
  if (!key || key->type() != base::crypto::KeyType::kEd25519) {
    return base::fail(
        base::ErrorKind::kInvalid,
        "--holder: must be an Ed25519 public key in PEM; make a pair with `securetool "
        "keygen ed25519 --out agent`");
  }
  return key->thumbprint();
}

}  // namespace

base::Result<base::json::Array> details_in_flag(const std::string& flag) {
  if (flag.empty()) return base::json::Array();
  std::string text = flag;
  if (flag.starts_with('@')) {
    ASSIGN_OR_RETURN(text, read_file(flag.substr(1)));
  }
  auto parsed = base::json::parse(text, {.bytes = 64 << 10, .depth = 8, .values = 10'000});
  if (!parsed) return std::move(parsed).error().with_context("--details");
  if (!parsed->is_array()) {
    return base::fail(base::ErrorKind::kInvalid, "--details: must be a list of details");
  }
  return std::move(parsed->get_array());
}

int keygen(const KeygenFlags& flags) {
  if (flags.kind == "secrets") return print_secrets();
  if (flags.out.empty()) {
    fmt::print(stderr, "--out: where the key pair shall be written\n");
    return 2;
  }
  auto type = flags.kind == "rsa" ? base::crypto::KeyType::kRsa : base::crypto::KeyType::kEd25519;
  auto key = base::crypto::SigningKey::generate(type);
  auto pem = key.to_pem();
  if (auto written = write_new(flags.out + ".key", pem.reveal(), kOwnerOnly); !written) {
    return say(written.error());
  }
  if (auto written = write_new(flags.out + ".pub", key.verify_key().to_pem(), kEverybodyReads);
      !written) {
    return say(written.error());
  }
  fmt::print("{0}.key {0}.pub {1}\n", flags.out, key.thumbprint());
  return 0;
}

int mint_token(const ConfigFlags& flags, const MintFlags& mint) {
  auto loaded = settings::load(flags.places(), settings::Role::kServer);
  if (!loaded) {
    fmt::print(stderr, "{}\n", loaded.error().message());
    return 2;
  }
  auto scopes = Scopes::parse(mint.scope);
  if (!scopes) return say(scopes.error());
  auto holder = holder_of(mint);
  if (!holder) return say(holder.error());
  auto details = details_in_flag(mint.details);
  if (!details) return say(details.error());
  auto token = mint_client_jwt(loaded->config, {mint.subject, std::move(*scopes),
                                                std::chrono::seconds(mint.lifetime_seconds),
                                                std::move(*holder), std::move(*details)});
  if (!token) return say(token.error());
  fmt::print("{}\n", *token);
  return 0;
}

}  // namespace tool::app
