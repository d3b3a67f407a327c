#include "toolserver/isolate/seccomp.h"

#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <initializer_list>
#include <vector>

namespace tool::isolate {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_AARCH64;
#else
#error "system calls of this machine are not known"
#endif

// Calls of the x32 interface have numbers of their own from here on.
constexpr std::uint32_t kOtherNumbers = 0x40000000;

constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;
constexpr std::uint32_t kUnknown = SECCOMP_RET_ERRNO | ENOSYS;

enum class Test : std::uint8_t { kEqual, kHasBits };

// One argument's lower half: the kernel takes these as 32-bit numbers.
struct Argument {
  unsigned index;
  Test test;
  std::uint32_t value;
};

/// A program for the kernel's machine. The number of the call stays in its
/// register: whatever looks at an argument ends with an answer.
class Filter {
 public:
  Filter() {
    load(offsetof(seccomp_data, arch));
    jump(BPF_JEQ, kMachine, 1, 0);
    answer(SECCOMP_RET_KILL_PROCESS);
    load(offsetof(seccomp_data, nr));
    jump(BPF_JGE, kOtherNumbers, 0, 1);
    answer(kUnknown);
  }

  void each(std::initializer_list<long> calls, std::uint32_t verdict) {
    for (long call : calls) {
      jump(BPF_JEQ, static_cast<std::uint32_t>(call), 0, 1);
      answer(verdict);
    }
  }

  /// `then` where one of `tests` holds, else `otherwise`.
  void any(long call, std::initializer_list<Argument> tests, std::uint32_t then,
           std::uint32_t otherwise) {
    auto steps = static_cast<std::uint8_t>(tests.size() * 3 + 1);
    jump(BPF_JEQ, static_cast<std::uint32_t>(call), 0, steps);
    for (const Argument& argument : tests) {
      load(offsetof(seccomp_data, args) + argument.index * sizeof(std::uint64_t));
      jump(argument.test == Test::kEqual ? BPF_JEQ : BPF_JSET, argument.value, 0, 1);
      answer(then);
    }
    answer(otherwise);
  }

  base::Status install(std::uint32_t otherwise) {
    answer(otherwise);
    sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) return {};
    return base::fail(base::ErrorKind::kInternal, "the filter of system calls is not taken")
        .with_detail(fmt::format("errno {}", errno));
  }

 private:
  void load(std::size_t offset) {
    code_.push_back({BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<std::uint32_t>(offset)});
  }
  void jump(unsigned kind, std::uint32_t value, std::uint8_t then, std::uint8_t otherwise) {
    code_.push_back({static_cast<std::uint16_t>(BPF_JMP | kind | BPF_K), then, otherwise, value});
  }
  void answer(std::uint32_t verdict) { code_.push_back({BPF_RET | BPF_K, 0, 0, verdict}); }

  std::vector<sock_filter> code_;
};

// A file's number on the wire of the kernel, and no more than a thread needs.
base::Status filter_own_code() {
  Filter filter;
  filter.each({__NR_read,       __NR_write,      __NR_readv,      __NR_writev, __NR_pread64,
               __NR_preadv,     __NR_lseek,      __NR_close,      __NR_fstat,  __NR_newfstatat,
               __NR_statx,      __NR_openat,     __NR_getdents64, __NR_fcntl,  __NR_faccessat,
               __NR_faccessat2, __NR_readlinkat, __NR_fadvise64,  __NR_getcwd, __NR_statfs,
               __NR_fstatfs},
              kAllow);
  filter.each({__NR_recvfrom, __NR_recvmsg, __NR_sendto, __NR_sendmsg, __NR_shutdown, __NR_ppoll},
              kAllow);
  filter.each({__NR_munmap, __NR_mremap, __NR_madvise, __NR_brk, __NR_mincore}, kAllow);
  filter.each({__NR_futex, __NR_set_robust_list, __NR_rseq, __NR_sched_yield,
               __NR_sched_getaffinity, __NR_getcpu, __NR_gettid, __NR_getpid, __NR_getppid,
               __NR_getuid, __NR_geteuid, __NR_getgid, __NR_getegid, __NR_uname, __NR_sysinfo,
               __NR_getrusage, __NR_membarrier, __NR_set_tid_address},
              kAllow);
  filter.each({__NR_clock_gettime, __NR_clock_getres, __NR_gettimeofday, __NR_clock_nanosleep,
               __NR_nanosleep, __NR_getrandom},
              kAllow);
  filter.each({__NR_rt_sigaction, __NR_rt_sigprocmask, __NR_rt_sigreturn, __NR_sigaltstack,
               __NR_restart_syscall, __NR_exit, __NR_exit_group},
              kAllow);
#if defined(__x86_64__)
  filter.each({__NR_open, __NR_stat, __NR_lstat, __NR_access, __NR_readlink, __NR_poll, __NR_time,
               __NR_arch_prctl},
              kAllow);
#endif
  // Memory that can be run is there from the start, and none is made later.
  filter.any(__NR_mmap, {{2, Test::kHasBits, PROT_EXEC}}, kRefuse, kAllow);
  filter.any(__NR_mprotect, {{2, Test::kHasBits, PROT_EXEC}}, kRefuse, kAllow);
  // Threads, and signals to itself, such as abort() sends.
  filter.any(__NR_clone, {{0, Test::kHasBits, CLONE_THREAD}}, kAllow, kRefuse);
  filter.each({__NR_clone3}, kUnknown);
  filter.any(__NR_tgkill, {{0, Test::kEqual, static_cast<std::uint32_t>(::getpid())}}, kAllow,
             kRefuse);
  filter.any(__NR_prctl, {{0, Test::kEqual, PR_SET_NAME}, {0, Test::kEqual, PR_GET_NAME}}, kAllow,
             kRefuse);
  // Of itself alone.
  filter.any(__NR_prlimit64, {{0, Test::kEqual, 0}}, kAllow, kRefuse);
  return filter.install(kRefuse);
}

// What no tool needs and what has opened kernels before.
void refuse_rare_calls(Filter& filter) {
  filter.each({__NR_ptrace, __NR_process_vm_readv, __NR_process_vm_writev, __NR_kcmp,
               __NR_pidfd_getfd, __NR_pidfd_open, __NR_perf_event_open, __NR_bpf, __NR_userfaultfd,
               __NR_seccomp, __NR_personality},
              kRefuse);
  filter.each({__NR_mount, __NR_umount2, __NR_pivot_root, __NR_chroot, __NR_unshare, __NR_setns,
               __NR_open_tree, __NR_move_mount, __NR_fsopen, __NR_fsconfig, __NR_fsmount,
               __NR_fspick, __NR_mount_setattr, __NR_open_by_handle_at, __NR_name_to_handle_at,
               __NR_quotactl, __NR_fanotify_init},
              kRefuse);
  filter.each({__NR_keyctl, __NR_add_key, __NR_request_key, __NR_io_uring_setup,
               __NR_io_uring_enter, __NR_io_uring_register},
              kRefuse);
  filter.each({__NR_init_module, __NR_finit_module, __NR_delete_module, __NR_kexec_load,
               __NR_reboot, __NR_swapon, __NR_swapoff, __NR_acct, __NR_syslog, __NR_settimeofday,
               __NR_clock_settime, __NR_adjtimex, __NR_clock_adjtime, __NR_sethostname,
               __NR_setdomainname, __NR_vhangup, __NR_mbind, __NR_migrate_pages, __NR_move_pages},
              kRefuse);
}

base::Status filter_program(const Walls& walls) {
  Filter filter;
  refuse_rare_calls(filter);
  if (walls.network == Network::kNone) {
    filter.each({__NR_socket, __NR_connect, __NR_bind, __NR_listen, __NR_accept, __NR_accept4},
                kRefuse);
  } else {
    // No sockets of this machine: their files are not behind Landlock.
    filter.any(
        __NR_socket,
        {{0, Test::kEqual, AF_INET}, {0, Test::kEqual, AF_INET6}, {0, Test::kEqual, AF_NETLINK}},
        kAllow, kRefuse);
  }
  filter.each({__NR_clone3}, kUnknown);
  constexpr std::uint32_t kSpaces = CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID |
                                    CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  if (walls.processes == Processes::kNone) {
    filter.any(__NR_clone, {{0, Test::kHasBits, CLONE_THREAD}}, kAllow, kRefuse);
#if defined(__x86_64__)
    filter.each({__NR_fork, __NR_vfork}, kRefuse);
#endif
  } else {
    filter.any(__NR_clone, {{0, Test::kHasBits, kSpaces}}, kRefuse, kAllow);
  }
  return filter.install(kAllow);
}

}  // namespace

bool has_seccomp() {
  // Without a filter the kernel says that the address is wrong, where it knows them.
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr) == -1 && errno == EFAULT;
}

base::Status filter_system_calls(const Walls& walls, Tenant tenant) {
  return tenant == Tenant::kOwnCode ? filter_own_code() : filter_program(walls);
}

}  // namespace tool::isolate
