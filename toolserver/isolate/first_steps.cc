#include "toolserver/isolate/first_steps.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/json/fields.h"
#include "toolserver/isolate/launch.h"

namespace tool::isolate {
namespace {

using base::ErrorKind;
using base::json::Fields;
using base::json::Object;
using base::json::Value;

constexpr int kNotBegun = 125;

// The errors that a child can begin with.
constexpr auto kKinds = std::to_array<std::pair<std::string_view, ErrorKind>>({
    {"invalid", ErrorKind::kInvalid},
    {"not_found", ErrorKind::kNotFound},
    {"unsupported", ErrorKind::kUnsupported},
    {"unavailable", ErrorKind::kUnavailable},
    {"internal", ErrorKind::kInternal},
});

struct Orders {
  pid_t parent = 0;
  Walls walls;
  std::string role;
  std::string program;
  std::string folder;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
};

base::Result<Orders> read_orders() {
  std::string text;
  std::array<char, 4096> part{};
  for (;;) {
    ssize_t got = ::read(kControl, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail(ErrorKind::kInvalid, "is a child of securetool alone");
    if (got == 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
    if (text.size() > kOrderBytes) return base::fail(ErrorKind::kInvalid, "orders: too long");
  }
  ASSIGN_OR_RETURN(Value value, base::json::parse(text));
  ASSIGN_OR_RETURN(Fields fields, Fields::of(value, "orders"));
  Orders orders;
  ASSIGN_OR_RETURN(const Value* walls, fields.value("walls"));
  ASSIGN_OR_RETURN(orders.walls, walls_from_json(*walls));
  ASSIGN_OR_RETURN(orders.parent, fields.int32("parent"));
  ASSIGN_OR_RETURN(auto role, fields.opt_string("role"));
  if (role) {
    orders.role = *std::move(role);
    return orders;
  }
  ASSIGN_OR_RETURN(orders.program, fields.string("program"));
  ASSIGN_OR_RETURN(orders.folder, fields.string("folder"));
  ASSIGN_OR_RETURN(orders.arguments, fields.strings("arguments"));
  ASSIGN_OR_RETURN(orders.environment, fields.strings("environment"));
  return orders;
}

// Ends with its parent, in a session of its own, with no descriptor that it was
// not given.
base::Status settle(const Orders& orders) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != orders.parent) {
    return base::fail(ErrorKind::kUnavailable, "the parent has ended");
  }
  ::setsid();
  unsigned first = orders.program.empty() ? kChannel + 1U : kControl + 1U;
  if (::syscall(__NR_close_range, first, ~0U, 0U) != 0) {
    return base::fail(ErrorKind::kInternal, "descriptors cannot be closed")
        .with_detail(fmt::format("errno {}", errno));
  }
  ::fcntl(kControl, F_SETFD, FD_CLOEXEC);
  if (!orders.folder.empty() && ::chdir(orders.folder.c_str()) != 0) {
    return base::fail(ErrorKind::kInvalid, "folder: is none that the program can be started in");
  }
  return {};
}

bool tell(const base::Result<std::vector<std::string>>& begun) {
  std::string text = report_of(begun);
  return ::send(kControl, text.data(), text.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(text.size());
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// The last report is the one that is taken: after that of the walls there is
// another only where the program cannot be started.
int become(Orders& orders, std::vector<std::string> missing) {
  std::vector<std::string> arguments{orders.program};
  std::ranges::move(orders.arguments, std::back_inserter(arguments));
  std::vector<char*> argv = pointers(arguments);
  std::vector<char*> environment = pointers(orders.environment);
  if (!tell(std::move(missing))) return kNotBegun;
  // Made while there is memory for it: this program is larger than many.
  std::string failed =
      report_of(base::fail(ErrorKind::kNotFound, "program: is none that can be run"));
  if (limit_memory(orders.walls, Tenant::kProgram)) {
    ::execve(orders.program.c_str(), argv.data(), environment.data());
  }
  (void)::send(kControl, failed.data(), failed.size(), MSG_NOSIGNAL);
  return kNotBegun;
}

int run_role(const Orders& orders, std::span<const Role> roles,
             const base::Result<std::vector<std::string>>& begun) {
  if (!tell(begun) || !begun) return kNotBegun;
  ::close(kControl);
  auto role = std::ranges::find(roles, orders.role, &Role::name);
  if (role == roles.end()) return 0;
  return limit_memory(orders.walls, Tenant::kOwnCode) ? role->main(kChannel) : kNotBegun;
}

}  // namespace

std::string report_of(const base::Result<std::vector<std::string>>& begun) {
  Object report;
  if (begun) {
    auto& missing = report["missing"].emplace_array();
    for (const std::string& one : *begun) missing.emplace_back(one);
  } else {
    auto kind = std::ranges::find(kKinds, begun.error().kind(),
                                  &std::pair<std::string_view, ErrorKind>::second);
    report["error"] = kind == kKinds.end() ? "internal" : kind->first;
    report["message"] = begun.error().message();
    report["detail"] = begun.error().detail();
  }
  return base::json::write(Value(std::move(report))) + "\n";
}

base::Result<std::vector<std::string>> read_report(std::string_view text) {
  auto ended = [] {
    return base::fail(ErrorKind::kUnavailable, "the child ended before it began");
  };
  if (!text.ends_with('\n')) return ended();
  text.remove_suffix(1);
  text.remove_prefix(std::min(text.rfind('\n') + 1, text.size()));
  auto value = base::json::parse(text, {.bytes = kReportBytes * 2, .depth = 4, .values = 64});
  if (!value) return ended();
  auto fields = Fields::of(*value, "report");
  if (!fields) return ended();
  if (auto missing = fields->strings("missing")) return *std::move(missing);
  auto kind = fields->string("error");
  auto message = fields->string("message");
  auto detail = fields->string("detail");
  if (!kind || !message || !detail) return ended();
  auto known = std::ranges::find(kKinds, *kind, &std::pair<std::string_view, ErrorKind>::first);
  if (known == kKinds.end()) return ended();
  return base::fail(known->second, *std::move(message)).with_detail(*std::move(detail));
}

std::optional<int> run_if_child(int argc, char** argv, std::span<const Role> roles) {
  if (argc != 3 || std::string_view(argv[1]) != kChildMark) {
    allow_launches();
    return std::nullopt;
  }
  auto orders = read_orders();
  if (!orders) {
    (void)tell(std::move(orders).error());
    return kNotBegun;
  }
  if (auto settled = settle(*orders); !settled) {
    (void)tell(std::move(settled).error());
    return kNotBegun;
  }
  if (!orders->role.empty()) {
    return run_role(*orders, roles, build(orders->walls, Tenant::kOwnCode));
  }
  auto built = build(orders->walls, Tenant::kProgram);
  if (!built) {
    (void)tell(std::move(built).error());
    return kNotBegun;
  }
  return become(*orders, *std::move(built));
}

}  // namespace tool::isolate
