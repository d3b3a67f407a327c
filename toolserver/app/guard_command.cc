#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/crypto/signing_key.h"
#include "base/crypto/verify_key.h"
#include "toolserver/app/command.h"
#include "toolserver/app/session_setup.h"
#include "toolserver/guard/rule_source.h"
#include "toolserver/settings/validate.h"

namespace tool::app {
namespace {

int say(const base::Error& error) {
  fmt::print(stderr, "{}\n", error.message());
  return 1;
}

base::Result<std::optional<base::crypto::VerifyKey>> verify_key(const std::string& file) {
  if (file.empty()) return std::optional<base::crypto::VerifyKey>();
  ASSIGN_OR_RETURN(std::string pem, read_file(file));
  auto key = base::crypto::VerifyKey::from_pem(pem);
  if (!key) return std::move(key).error().with_context("--key");
  return std::optional(std::move(*key));
}

base::Result<base::crypto::SigningKey> signing_key(const std::string& file) {
  if (auto rule = settings::private_key_rule(file)) {
    return base::fail(base::ErrorKind::kInvalid, "--key: " + *rule);
  }
  ASSIGN_OR_RETURN(std::string pem, read_file(file));
  auto key = base::crypto::SigningKey::from_pem(pem);
  if (!key) return std::move(key).error().with_context("--key");
  return key;
}

// The signature is replaced as a whole, so that no reader sees half of one.
base::Status sign(const base::crypto::SigningKey& key, const std::string& path) {
  ASSIGN_OR_RETURN(auto parsed, guard::read_rules(path, std::nullopt));
  ASSIGN_OR_RETURN(std::string text, read_file(path));
  auto signature = guard::sign_rules(key, text);
  if (!signature) return std::move(signature).error().with_context("--key");
  std::string made = path + ".sig.new";
  {
    std::ofstream out(made, std::ios::trunc);
    out << *signature << '\n';
    if (!out.flush())
      return base::fail(base::ErrorKind::kUnavailable, made + ": cannot be written");
  }
  std::error_code error;
  std::filesystem::rename(made, path + ".sig", error);
  if (error) return base::fail(base::ErrorKind::kUnavailable, path + ".sig: cannot be written");
  fmt::print("{}.sig: {} version {}, {} rules, key {}\n", path, parsed.name, parsed.version,
             parsed.rules.size(), key.thumbprint());
  return {};
}

}  // namespace

int test_rules(const GuardFlags& flags) {
  auto key = verify_key(flags.key);
  if (!key) return say(key.error());
  bool all = true;
  for (const auto& path : flags.files) {
    auto file = guard::read_rules(path, *key);
    auto set = file ? guard::RuleSet::compile(file->rules)
                    : base::Result<std::shared_ptr<const guard::RuleSet>>(file.error());
    if (!set) {
      say(set.error());
      all = false;
      continue;
    }
    auto failed = (*set)->failed_examples();
    for (const auto& line : failed) fmt::print(stderr, "{}\n", line);
    all = all && failed.empty();
    fmt::print("{}: {} version {}, {} rules, {} failed\n", path, file->name, file->version,
               file->rules.size(), failed.size());
  }
  return all ? 0 : 1;
}

int sign_rule_files(const GuardFlags& flags) {
  auto key = signing_key(flags.key);
  if (!key) return say(key.error());
  for (const auto& path : flags.files) {
    if (auto signed_one = sign(*key, path); !signed_one) return say(signed_one.error());
  }
  return 0;
}

}  // namespace tool::app
