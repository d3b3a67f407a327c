#include "base/testing/child_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <thread>

extern char** environ;

namespace base::testing {
namespace {

using Clock = std::chrono::steady_clock;

// Between two looks at a child: short against any server's start.
constexpr std::chrono::milliseconds kPollInterval{10};

class Socket {
 public:
  Socket() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool connect_loopback(const Socket& socket, std::uint16_t port) {
  sockaddr_in address = loopback(port);
  return ::connect(socket.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

std::vector<std::string> merged_environment(const Program& program) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view text = *entry;
    std::string_view name = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& [added, value] : program.environment) replaced = replaced || added == name;
    if (!replaced) out.emplace_back(text);
  }
  for (const auto& [name, value] : program.environment) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (auto& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// Runs between fork and exec, so it makes only calls that are safe there.
// Returns only on failure, with errno set.
void become(const Program& program, char** arguments, char** environment) {
  if (::setpgid(0, 0) != 0) return;
  const char* output = program.output.empty() ? "/dev/null" : program.output.c_str();
  int out = ::open(output, O_WRONLY | O_CREAT | O_APPEND, 0644);
  int in = ::open("/dev/null", O_RDONLY);
  if (out < 0 || in < 0 || ::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(out, 2) < 0) return;
  if (!program.folder.empty() && ::chdir(program.folder.c_str()) != 0) return;
  if (program.account) {
    if (::setgroups(0, nullptr) != 0 || ::setgid(program.account->group) != 0 ||
        ::setuid(program.account->user) != 0) {
      return;
    }
  }
  // After setuid, which clears it.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return;
  ::execve(program.path.c_str(), arguments, environment);
}

// What the child wrote into the pipe: its errno, or nothing once exec worked.
std::optional<int> read_failure(int fd) {
  int failure = 0;
  ssize_t got = 0;
  do {
    got = ::read(fd, &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(sizeof failure)) return failure;
  return std::nullopt;
}

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::uint16_t free_port() {
  Socket socket;
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(socket.fd(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::abort();
  }
  return ntohs(address.sin_port);
}

bool accepts_connections(std::uint16_t port) {
  Socket socket;
  return connect_loopback(socket, port);
}

bool answers_ok(std::uint16_t port, const std::string& path) {
  Socket socket;
  timeval limit{.tv_sec = 1, .tv_usec = 0};
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (!connect_loopback(socket, port)) return false;
  std::string request =
      fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n", path, port);
  if (::send(socket.fd(), request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size())) {
    return false;
  }
  std::string head(12, '\0');  // "HTTP/1.1 200"
  if (::recv(socket.fd(), head.data(), head.size(), MSG_WAITALL) !=
      static_cast<ssize_t>(head.size())) {
    return false;
  }
  return head.ends_with(" 200");
}

Result<std::string> required_environment(const std::string& name, const std::string& meaning) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') {
    return fail(ErrorKind::kInvalid,
                fmt::format("the environment variable {} must hold {}", name, meaning));
  }
  return std::string(value);
}

TemporaryFolder::TemporaryFolder() {
  path_ = (std::filesystem::temp_directory_path() / "test-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr) std::abort();
}

TemporaryFolder::~TemporaryFolder() {
  // What cannot be removed stays behind in the folder for temporary files; a
  // destructor has nobody to tell.
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Result<Account> Account::of_user(const std::string& name) {
  const passwd* entry = ::getpwnam(name.c_str());
  if (entry == nullptr) return fail(ErrorKind::kNotFound, "no user named " + name);
  return Account{.user = entry->pw_uid, .group = entry->pw_gid};
}

Result<ChildProcess> ChildProcess::start(Program program) {
  std::vector<std::string> arguments = program.arguments;
  arguments.insert(arguments.begin(), program.path);
  std::vector<std::string> environment = merged_environment(program);
  std::vector<char*> argument_pointers = pointers(arguments);
  std::vector<char*> environment_pointers = pointers(environment);
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) return fail(ErrorKind::kUnavailable, "no pipe");
  pid_t pid = ::fork();
  if (pid == 0) {
    become(program, argument_pointers.data(), environment_pointers.data());
    int failure = errno;
    ssize_t written = ::write(report[1], &failure, sizeof failure);
    ::_exit(written > 0 ? 127 : 126);
  }
  ::close(report[1]);
  std::optional<int> failure = pid > 0 ? read_failure(report[0]) : errno;
  ::close(report[0]);
  if (!failure) return ChildProcess(std::move(program), pid);
  if (pid > 0) ::waitpid(pid, nullptr, 0);
  return fail(ErrorKind::kUnavailable,
              fmt::format("cannot run {}: {}", program.path, std::strerror(*failure)));
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : program_(std::move(other.program_)),
      pid_(std::exchange(other.pid_, -1)),
      exit_code_(other.exit_code_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    stop();
    program_ = std::move(other.program_);
    pid_ = std::exchange(other.pid_, -1);
    exit_code_ = other.exit_code_;
  }
  return *this;
}

ChildProcess::~ChildProcess() { stop(); }

bool ChildProcess::running() {
  if (pid_ < 0 || exit_code_) return false;
  siginfo_t ended{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      ended.si_pid == 0) {
    return true;
  }
  collect();
  return false;
}

Status ChildProcess::wait_until(const std::function<bool()>& ready,
                                std::chrono::milliseconds limit) {
  auto end = Clock::now() + limit;
  while (running()) {
    if (ready()) return {};
    if (Clock::now() >= end) {
      return fail(ErrorKind::kTimeout, program_.path + " did not become ready")
          .with_detail(output_end());
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  return fail(ErrorKind::kUnavailable, program_.path + " ended before it was ready")
      .with_detail(output_end());
}

Result<int> ChildProcess::wait(std::chrono::milliseconds limit) {
  auto end = Clock::now() + limit;
  while (running()) {
    if (Clock::now() >= end) return fail(ErrorKind::kTimeout, program_.path + " is still running");
    std::this_thread::sleep_for(kPollInterval);
  }
  return exit_code_.value_or(-1);
}

void ChildProcess::signal(int number) {
  if (running()) ::kill(pid_, number);
}

void ChildProcess::stop() {
  signal(program_.stop_signal);
  auto stopped = wait(program_.stop_time);
  if (!stopped) kill();
}

void ChildProcess::kill() {
  if (!running()) return;
  collect();
}

void ChildProcess::collect() {
  // The program's own children share its group, and its number cannot belong
  // to another group before the program is waited for.
  ::kill(-pid_, SIGKILL);
  int status = 0;
  if (::waitpid(pid_, &status, 0) == pid_) exit_code_ = exit_code_of(status);
}

std::string ChildProcess::output_end() const {
  constexpr std::size_t kShown = 2000;
  std::ifstream file(program_.output);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return text.size() > kShown ? text.substr(text.size() - kShown) : text;
}

}  // namespace base::testing
