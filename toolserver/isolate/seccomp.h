#pragma once

// Filters of system calls, which the kernel runs before each of them.
// Source: Linux, Documentation/userspace-api/seccomp_filter.rst; seccomp(2).

#include "base/core/result.h"
#include "toolserver/isolate/walls.h"

namespace tool::isolate {

/// Whether this kernel filters system calls.
[[nodiscard]] bool has_seccomp();

/// Filters the calls of this process and of all that it starts, for good.
/// What is refused fails as EPERM, a new kind of call that libraries try first
/// as ENOSYS. Needs PR_SET_NO_NEW_PRIVS.
/// Errors: kInternal  the kernel does not take the filter.
[[nodiscard]] base::Status filter_system_calls(const Walls& walls, Tenant tenant);

}  // namespace tool::isolate
