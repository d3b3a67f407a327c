#pragma once

// The audit trail of a configuration: its folder, its rules and its keys.

#include <filesystem>

#include "base/core/result.h"
#include "toolserver/audit/audit_log.h"
#include "toolserver/audit/checkpoint.h"
#include "toolserver/settings/settings.h"

namespace tool::app {

/// Errors: kInvalid  a file of audit.old_keys that cannot be used.
[[nodiscard]] base::Result<audit::AuditOptions> audit_options(const settings::SecureConfig& config);

/// The key file, or a key derived from secret_key when there is none.
/// Errors: kInvalid  neither, or a file that cannot be used.
[[nodiscard]] base::Result<audit::CheckpointSigner> checkpoint_signer(
    const settings::SecureConfig& config);
/// What checks that signer's checkpoints, and those of former times: the old
/// keys, and the shared secret where a key pair signs now. Errors: as above.
[[nodiscard]] base::Result<audit::CheckpointKeys> checkpoint_keys(
    const settings::SecureConfig& config);
/// Adds the key of a file: a public key in PEM, or a former secret.
/// Errors: kInvalid  neither; names the file.
[[nodiscard]] base::Status add_key(audit::CheckpointKeys& keys, const std::filesystem::path& file);

}  // namespace tool::app
