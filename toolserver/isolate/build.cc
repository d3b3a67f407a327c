#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/files/descriptor.h"
#include "toolserver/isolate/landlock.h"
#include "toolserver/isolate/seccomp.h"
#include "toolserver/isolate/walls.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TOOL_ISOLATE_SANITIZED 1
#endif
#endif

namespace tool::isolate {
namespace {

// A sanitizer's shadow of the memory is larger than any limit.
#ifdef TOOL_ISOLATE_SANITIZED
constexpr bool kLimitsMemory = false;
#else
constexpr bool kLimitsMemory = true;
#endif

base::Error not_built(const char* step) {
  return base::fail(base::ErrorKind::kInternal, "a wall cannot be built")
      .with_detail(fmt::format("{}: errno {}", step, errno));
}

bool limit(__rlimit_resource what, std::uint64_t most) {
  rlimit both{most, most};
  rlimit now{};
  if (::getrlimit(what, &now) != 0) return false;
  both.rlim_max = std::min<rlim_t>(most, now.rlim_max);
  both.rlim_cur = both.rlim_max;
  return ::setrlimit(what, &both) == 0;
}

base::Status set_limits(const Walls& walls, Tenant tenant) {
  bool done = limit(RLIMIT_CORE, 0) && limit(RLIMIT_NOFILE, walls.files) &&
              limit(RLIMIT_FSIZE, walls.file_bytes) && limit(RLIMIT_MSGQUEUE, 0) &&
              limit(RLIMIT_MEMLOCK, 0);
  if (done && walls.processor.count() > 0) {
    done = limit(RLIMIT_CPU, static_cast<std::uint64_t>(walls.processor.count()));
  }
  if (!done) return not_built("setrlimit");
  // Then a write over the limit fails, and does not end the process.
  if (tenant == Tenant::kOwnCode) std::signal(SIGXFSZ, SIG_IGN);
  return {};
}

bool write_text(const char* path, const std::string& text) {
  base::files::Descriptor file(::open(path, O_WRONLY | O_CLOEXEC));
  return file.valid() &&
         ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// A network without an address, and no process of others to see. Inside of its
// own user namespace the process is still the user that it was.
bool enter_namespaces(const Walls& walls, Tenant tenant) {
  int spaces = CLONE_NEWIPC | CLONE_NEWUTS;
  if (walls.network == Network::kNone) spaces |= CLONE_NEWNET;
  if (tenant == Tenant::kProgram) spaces |= CLONE_NEWPID;
  uid_t user = ::geteuid();
  gid_t group = ::getegid();
  if (::unshare(spaces | CLONE_NEWUSER) == 0) {
    return write_text("/proc/self/setgroups", "deny") &&
           write_text("/proc/self/uid_map", fmt::format("{0} {0} 1", user)) &&
           write_text("/proc/self/gid_map", fmt::format("{0} {0} 1", group));
  }
  // Where only root may have one, root needs none.
  return ::unshare(spaces) == 0;
}

bool drop_capabilities() {
  for (int one = 0; ::prctl(PR_CAPBSET_READ, one) >= 0; ++one) {
    // Without CAP_SETPCAP there is none to lose either.
    if (::prctl(PR_CAPBSET_DROP, one) != 0 && errno != EPERM) return false;
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  return ::syscall(SYS_capset, &header, none.data()) == 0;
}

// Ends as its child does; the kernel ends the child with it, and with the child
// all that lives in the namespace of processes which it is the first of.
[[noreturn]] void stand_for(pid_t child) {
  ::syscall(__NR_close_range, 0U, ~0U, 0U);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    std::signal(WTERMSIG(status), SIG_DFL);
    ::raise(WTERMSIG(status));
  }
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128);
}

base::Status go_on_as_child() {
  pid_t child = ::fork();
  if (child < 0) return not_built("fork");
  if (child > 0) stand_for(child);
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return not_built("prctl");
  return {};
}

}  // namespace

bool limit_memory(const Walls& walls, Tenant tenant) {
  // This program's own shadow, and not that of another which takes its place.
  if (!kLimitsMemory && tenant == Tenant::kOwnCode) return true;
  return limit(RLIMIT_AS, walls.memory_bytes);
}

base::Result<std::vector<std::string>> build(const Walls& walls, Tenant tenant) {
  std::vector<std::string> missing;
  bool files = landlock_version() > 0;
  bool calls = has_seccomp();
  if (walls.namespaces && enter_namespaces(walls, tenant)) {
    if (tenant == Tenant::kProgram) RETURN_IF_ERROR(go_on_as_child());
  } else {
    missing.emplace_back(kNamespaces);
  }
  if (!files) missing.emplace_back(kLandlock);
  if (!calls) missing.emplace_back(kSeccomp);
  if (!missing.empty() && walls.demand == Demand::kAll) {
    return base::fail(
        base::ErrorKind::kUnsupported,
        fmt::format("this kernel has no {}, and all walls are demanded", missing.front()));
  }
  RETURN_IF_ERROR(set_limits(walls, tenant));
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return not_built("no_new_privs");
  if (!drop_capabilities()) return not_built("capabilities");
  if (files) RETURN_IF_ERROR(close_files(walls, tenant));
  if (calls) RETURN_IF_ERROR(filter_system_calls(walls, tenant));
  return missing;
}

}  // namespace tool::isolate
