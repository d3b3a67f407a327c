#pragma once

// Where rules come from: files that an operator names, each signed, and those
// that the service brings. Who can write a rule file can switch the guard off,
// so a file is believed for its signature, not for its place.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/crypto/signing_key.h"
#include "base/crypto/verify_key.h"
#include "toolserver/guard/rule_set.h"

namespace tool::guard {

/// The names of the rule files that the service brings.
[[nodiscard]] std::vector<std::string> shipped_names();
/// Errors: kNotFound  there is none of that name. Aborts on a shipped file that
/// is broken.
[[nodiscard]] base::Result<RuleFile> shipped_rules(std::string_view name);

/// The signature of a rule file: base64url of Ed25519 over
/// "securetool-rules/1\0" and the file's bytes. Stands in FILE.sig.
/// Errors: kInvalid  the key is not Ed25519.
[[nodiscard]] base::Result<std::string> sign_rules(const base::crypto::SigningKey& key,
                                                   std::string_view file);

/// Reads and proves a rule file: its signature by `key`, or none where there is
/// no key.
/// Errors: kInvalid  the file or its signature cannot be read or does not hold,
///         or a rule is broken; the message begins with the file's name.
[[nodiscard]] base::Result<RuleFile> read_rules(const std::filesystem::path& path,
                                                const std::optional<base::crypto::VerifyKey>& key);

struct RuleSource {
  std::vector<std::string> shipped;
  std::vector<std::filesystem::path> files;
  std::optional<base::crypto::VerifyKey> key;  ///< Nothing: files need no signature.
};
/// All rules of a source, with every example tried. Null when it names none.
/// Errors: kInvalid, kTooLarge  as read_rules() and RuleSet::compile(); an
///         example that fails; two rules of one id.
[[nodiscard]] base::Result<std::shared_ptr<const RuleSet>> load_rules(const RuleSource& source);

}  // namespace tool::guard
