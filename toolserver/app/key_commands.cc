#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "base/core/clock.h"
#include "base/crypto/encoding.h"
#include "base/crypto/signing_key.h"
#include "toolserver/app/command.h"
#include "toolserver/app/secure_server.h"
#include "toolserver/app/session_setup.h"

namespace tool::app {
namespace {

constexpr mode_t kOwnerOnly = 0600;
constexpr mode_t kEverybodyReads = 0644;

std::string random_text(base::Random& random, std::size_t bytes) {
  std::string raw(bytes, '\0');
  random.fill(std::as_writable_bytes(std::span(raw)));
  return base::crypto::to_base64url(raw);
}

// A key that exists may be in use: it is never written over.
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

int say(const base::Error& error) {
  fmt::print(stderr, "{}\n", error.message());
  return 1;
}

int print_secrets() {
  base::SystemRandom random;
  fmt::print("SCP_API_KEY={}\nSCP_SECRET_KEY={}\nSCP_JWT_SECRET={}\nSCP_KDF_SALT={}\n",
             random_text(random, 32), random_text(random, 36), random_text(random, 36),
             random_text(random, 18));
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
  auto token = mint_client_jwt(loaded->config,
                               {mint.subject, std::move(*scopes),
                                std::chrono::seconds(mint.lifetime_seconds), std::move(*holder)});
  if (!token) return say(token.error());
  fmt::print("{}\n", *token);
  return 0;
}

}  // namespace tool::app
