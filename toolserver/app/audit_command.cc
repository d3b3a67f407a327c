#include <fmt/format.h>

#include <charconv>
#include <cstdio>

#include "base/crypto/verify_key.h"
#include "base/json/json.h"
#include "toolserver/app/audit_setup.h"
#include "toolserver/app/command.h"
#include "toolserver/app/session_setup.h"
#include "toolserver/audit/verify.h"

namespace tool::app {
namespace {

base::Result<audit::CheckpointKeys> keys_of(const std::vector<std::string>& files) {
  audit::CheckpointKeys keys;
  for (const auto& file : files) {
    ASSIGN_OR_RETURN(std::string pem, read_file(file));
    ASSIGN_OR_RETURN(auto key, base::crypto::VerifyKey::from_pem(pem));
    keys.add(std::move(key));
  }
  return keys;
}

base::Result<std::vector<audit::AuditReceipt>> receipts_of(const std::vector<std::string>& texts) {
  std::vector<audit::AuditReceipt> receipts;
  for (const auto& text : texts) {
    audit::AuditReceipt receipt;
    const char* end = text.data() + text.size();
    auto [colon, error] = std::from_chars(text.data(), end, receipt.seq);
    if (error != std::errc() || colon == end || *colon != ':') {
      return base::fail(base::ErrorKind::kInvalid, "--receipt: must be seq:hash");
    }
    receipt.hash.assign(colon + 1, end);
    receipts.push_back(std::move(receipt));
  }
  return receipts;
}

// The folder and keys of the configuration, unless the caller names its own.
base::Result<audit::CheckpointKeys> complete(const ConfigFlags& flags, VerifyFlags& verify) {
  ASSIGN_OR_RETURN(auto keys, keys_of(verify.keys));
  if (!verify.folder.empty() && !keys.empty()) return keys;
  ASSIGN_OR_RETURN(auto loaded, settings::load(flags.places(), settings::Role::kServer));
  if (verify.folder.empty()) verify.folder = loaded.config.audit.path;
  if (keys.empty()) return checkpoint_keys(loaded.config);
  return keys;
}

}  // namespace

int verify_audit(const ConfigFlags& flags, const VerifyFlags& given) {
  VerifyFlags verify = given;
  auto keys = complete(flags, verify);
  if (!keys) {
    fmt::print(stderr, "{}\n", keys.error().message());
    return 2;
  }
  auto receipts = receipts_of(verify.receipts);
  if (!receipts) {
    fmt::print(stderr, "{}\n", receipts.error().message());
    return 2;
  }
  audit::VerifyOptions options;
  options.expected = std::move(*receipts);
  auto report = audit::verify(verify.folder, *keys, options);
  if (!report) {
    fmt::print(stderr, "{}\n", report.error().message());
    return 1;
  }
  fmt::print("{}\n", base::json::write(report->to_json()));
  if (report->is_intact()) return 0;
  fmt::print(stderr, "the audit trail is not intact\n");
  return 1;
}

}  // namespace tool::app
