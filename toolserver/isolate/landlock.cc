#include "toolserver/isolate/landlock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/files/descriptor.h"

namespace tool::isolate {
namespace {

// Later versions than the header may know.
constexpr std::uint64_t kTruncate = 1ULL << 14;
constexpr std::uint64_t kDeviceControl = 1ULL << 15;
constexpr std::uint64_t kBindTcp = 1ULL << 0;
constexpr std::uint64_t kConnectTcp = 1ULL << 1;
constexpr std::uint64_t kAbstractSockets = 1ULL << 0;
constexpr std::uint64_t kSignals = 1ULL << 1;

struct Rules {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scopes = 0;
};

constexpr std::uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kRun = kRead | LANDLOCK_ACCESS_FS_EXECUTE;
constexpr std::uint64_t kWrite = kRead | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate |
                                 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                 LANDLOCK_ACCESS_FS_REFER;
constexpr std::uint64_t kOfOneFile = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE |
                                     LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;

// All that the version knows is refused unless a place allows it.
Rules rules_of(int version, const Walls& walls) {
  Rules rules;
  rules.files = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  if (version >= 2) rules.files |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= 3) rules.files |= kTruncate;
  if (version >= 5) rules.files |= kDeviceControl;
  if (version >= 4 && walls.network == Network::kNone) rules.network = kBindTcp | kConnectTcp;
  if (version >= 6) rules.scopes = kAbstractSockets | kSignals;
  return rules;
}

std::size_t size_for(int version) {
  if (version >= 6) return sizeof(Rules);
  return version >= 4 ? offsetof(Rules, scopes) : offsetof(Rules, network);
}

std::uint64_t rights_of(Access access) {
  switch (access) {
    case Access::kRead: return kRead;
    case Access::kRun: return kRun;
    case Access::kWrite: return kWrite;
  }
  return 0;
}

base::Error not_taken(const char* step) {
  return base::fail(base::ErrorKind::kInternal, "the rules of files are not taken")
      .with_detail(fmt::format("{}: errno {}", step, errno));
}

base::Status allow(int ruleset, const Place& place, std::uint64_t known) {
  base::files::Descriptor at(::open(place.path.c_str(), O_PATH | O_CLOEXEC));
  if (!at.valid()) return {};
  struct stat facts{};
  if (::fstat(at.get(), &facts) != 0) return not_taken("fstat");
  std::uint64_t rights = rights_of(place.access) & known;
  if (!S_ISDIR(facts.st_mode)) rights &= kOfOneFile;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights;
  rule.parent_fd = at.get();
  if (::syscall(__NR_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0) {
    return {};
  }
  return not_taken("landlock_add_rule");
}

}  // namespace

int landlock_version() {
  long version =
      ::syscall(__NR_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version < 0 ? 0 : static_cast<int>(version);
}

base::Status close_files(const Walls& walls, Tenant tenant) {
  int version = landlock_version();
  Rules rules = rules_of(version, walls);
  base::files::Descriptor ruleset(
      static_cast<int>(::syscall(__NR_landlock_create_ruleset, &rules, size_for(version), 0)));
  if (!ruleset.valid()) return not_taken("landlock_create_ruleset");
  for (Place place : walls.places) {
    // A part of this program starts no other.
    if (tenant == Tenant::kOwnCode && place.access == Access::kRun) place.access = Access::kRead;
    RETURN_IF_ERROR(allow(ruleset.get(), place, rules.files));
  }
  if (::syscall(__NR_landlock_restrict_self, ruleset.get(), 0) == 0) return {};
  return not_taken("landlock_restrict_self");
}

}  // namespace tool::isolate
