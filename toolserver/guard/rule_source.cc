#include "toolserver/guard/rule_source.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "base/config/file_text.h"
#include "base/core/embedded_text.h"
#include "base/crypto/encoding.h"

namespace base::embedded {
std::span<const Text> guard_rules();
}  // namespace base::embedded

namespace tool::guard {
namespace {

constexpr std::size_t kSignatureBytes = 64;

std::string signed_bytes(std::string_view file) {
  std::string out("securetool-rules/1");
  out += '\0';
  out += file;
  return out;
}

base::Error invalid(std::string what) {
  return base::fail(base::ErrorKind::kInvalid, std::move(what));
}

base::Result<std::string> text_of(const std::filesystem::path& path) {
  auto file = base::config::read_file(path);
  if (file.state == base::config::FileText::State::kRead) return std::move(file.text);
  return invalid("cannot be read, or is no file of at most 1 MiB");
}

base::Status check_signature(const std::filesystem::path& path, std::string_view file,
                             const base::crypto::VerifyKey& key) {
  auto text = text_of(path.string() + ".sig");
  if (!text) return std::move(text).error().with_context(".sig");
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r')) text->pop_back();
  auto signature = base::crypto::from_base64url(*text, kSignatureBytes);
  if (!signature ||
      !key.verify(base::crypto::SignatureAlgorithm::kEd25519, signed_bytes(file), *signature)) {
    return invalid("the signature is not of this file by guard.rules_key_path");
  }
  return {};
}

}  // namespace

std::vector<std::string> shipped_names() {
  std::vector<std::string> out;
  for (const auto& one : base::embedded::guard_rules()) out.emplace_back(one.name);
  return out;
}

base::Result<RuleFile> shipped_rules(std::string_view name) {
  for (const auto& one : base::embedded::guard_rules()) {
    if (one.name != name) continue;
    auto file = parse_rule_file(one.text);
    if (!file) {
      fmt::print(stderr, "shipped rules {}: {}\n", name, file.error().message());
      std::abort();
    }
    return file;
  }
  return base::fail(base::ErrorKind::kNotFound, "no rules of that name come with the service");
}

base::Result<std::string> sign_rules(const base::crypto::SigningKey& key, std::string_view file) {
  ASSIGN_OR_RETURN(auto signature,
                   key.sign(base::crypto::SignatureAlgorithm::kEd25519, signed_bytes(file)));
  return base::crypto::to_base64url(signature);
}

base::Result<RuleFile> read_rules(const std::filesystem::path& path,
                                  const std::optional<base::crypto::VerifyKey>& key) {
  std::string name = path.filename().string();
  auto text = text_of(path);
  if (!text) return std::move(text).error().with_context(name);
  if (key) {
    auto checked = check_signature(path, *text, *key);
    if (!checked) return std::move(checked).error().with_context(name);
  }
  auto file = parse_rule_file(*text);
  if (!file) return std::move(file).error().with_context(name);
  return file;
}

base::Result<std::shared_ptr<const RuleSet>> load_rules(const RuleSource& source) {
  std::vector<Rule> rules;
  auto add = [&](RuleFile file) {
    for (Rule& rule : file.rules) rules.push_back(std::move(rule));
  };
  for (const std::string& name : source.shipped) {
    auto file = shipped_rules(name);
    if (!file) return std::move(file).error().with_context(name);
    add(std::move(*file));
  }
  for (const auto& path : source.files) {
    ASSIGN_OR_RETURN(auto file, read_rules(path, source.key));
    add(std::move(file));
  }
  if (rules.empty()) return std::shared_ptr<const RuleSet>();
  ASSIGN_OR_RETURN(auto set, RuleSet::compile(std::move(rules)));
  auto failed = set->failed_examples();
  if (!failed.empty()) return invalid(failed.front());
  return set;
}

}  // namespace tool::guard
