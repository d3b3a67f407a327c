#pragma once

// The files that a process can open, as the kernel's Landlock keeps them.
// Source: Linux, Documentation/userspace-api/landlock.rst.

#include "base/core/result.h"
#include "toolserver/isolate/walls.h"

namespace tool::isolate {

/// Version of the interface, 0 where the kernel has none or it is switched off.
[[nodiscard]] int landlock_version();

/// Leaves this process and all that it starts the places of `walls`, and no
/// TCP where it has no network. With version 6 also no signal to a process
/// outside, and no abstract socket. Needs PR_SET_NO_NEW_PRIVS.
/// Errors: kInternal  the kernel does not take the rules.
[[nodiscard]] base::Status close_files(const Walls& walls, Tenant tenant);

}  // namespace tool::isolate
