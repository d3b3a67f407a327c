#pragma once

// The audit trail of a configuration: its folder, its rules and its keys.

#include "base/core/result.h"
#include "toolserver/audit/audit_log.h"
#include "toolserver/audit/checkpoint.h"
#include "toolserver/settings/settings.h"

namespace tool::app {

[[nodiscard]] audit::AuditOptions audit_options(const settings::SecureConfig& config);

/// The key file, or a key derived from secret_key when there is none.
/// Errors: kInvalid  neither, or a file that cannot be used.
[[nodiscard]] base::Result<audit::CheckpointSigner> checkpoint_signer(
    const settings::SecureConfig& config);
/// What checks that signer's checkpoints. Errors: as above.
[[nodiscard]] base::Result<audit::CheckpointKeys> checkpoint_keys(
    const settings::SecureConfig& config);

}  // namespace tool::app
