#include "bench/tools/load/raw_echo.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <deque>
#include <thread>
#include <utility>

#include "bench/samples/samples.h"

namespace bench {
namespace {

constexpr std::size_t kBuffer = 64 << 10;

base::Error failed() {
  return base::fail(base::ErrorKind::kUnavailable, "raw echo: a socket failed");
}

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool good() const { return fd_ >= 0; }

  void no_delay() const {
    int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  [[nodiscard]] bool send_all(const char* data, std::size_t size) const {
    while (size > 0) {
      ssize_t n = ::send(fd_, data, size, MSG_NOSIGNAL);
      if (n <= 0) return false;
      data += n;
      size -= static_cast<std::size_t>(n);
    }
    return true;
  }

 private:
  int fd_;
};

void echo(const Socket& socket) {
  std::array<char, kBuffer> buffer;
  while (true) {
    ssize_t n = ::recv(socket.fd(), buffer.data(), buffer.size(), 0);
    if (n <= 0 || !socket.send_all(buffer.data(), static_cast<std::size_t>(n))) return;
  }
}

// The two ends of a loopback connection.
base::Result<std::pair<Socket, Socket>> connected_pair() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  Socket listener(::socket(AF_INET, SOCK_STREAM, 0));
  Socket client(::socket(AF_INET, SOCK_STREAM, 0));
  if (!listener.good() || !client.good() || ::bind(listener.fd(), generic, size) != 0 ||
      ::getsockname(listener.fd(), generic, &size) != 0 || ::listen(listener.fd(), 1) != 0 ||
      ::connect(client.fd(), generic, size) != 0) {
    return failed();
  }
  Socket server(::accept(listener.fd(), nullptr, nullptr));
  if (!server.good()) return failed();
  client.no_delay();
  server.no_delay();
  return std::pair{std::move(client), std::move(server)};
}

base::Status ask(const Socket& socket, const RawEcho& options, Samples& samples) {
  std::string message(options.bytes * options.in_flight, 'x');
  std::string buffer(kBuffer, '\0');
  std::deque<Steady::time_point> sent(options.in_flight, Steady::now());
  std::size_t left = options.count - options.in_flight;
  std::size_t partial = 0;
  if (!socket.send_all(message.data(), message.size())) return failed();
  while (!sent.empty()) {
    ssize_t n = ::recv(socket.fd(), buffer.data(), buffer.size(), 0);
    if (n <= 0) return failed();
    partial += static_cast<std::size_t>(n);
    std::size_t whole = partial / options.bytes;
    partial %= options.bytes;
    auto now = Steady::now();
    for (std::size_t i = 0; i < whole; ++i) {
      samples.add(now - sent.front());
      sent.pop_front();
    }
    std::size_t next = std::min(whole, left);
    left -= next;
    sent.insert(sent.end(), next, now);
    if (!socket.send_all(message.data(), next * options.bytes)) return failed();
  }
  return {};
}

}  // namespace

base::Result<std::string> raw_echo(const RawEcho& options) {
  ASSIGN_OR_RETURN(auto pair, connected_pair());
  std::jthread server([&] { echo(pair.second); });
  Samples samples(options.count);
  double cpu = own_cpu_seconds();
  auto start = Steady::now();
  auto status = ask(pair.first, options, samples);
  auto total = Steady::now() - start;
  ::shutdown(pair.first.fd(), SHUT_RDWR);
  server.join();
  if (!status) return status.error();
  return report(samples, total, own_cpu_seconds() - cpu);
}

}  // namespace bench
