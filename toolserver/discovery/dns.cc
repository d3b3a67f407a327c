#include "toolserver/discovery/dns.h"

#include <ares.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/http/dial.h"
#include "toolserver/settings/endpoint.h"

namespace tool::discovery {
namespace {

namespace asio = boost::asio;
using base::ErrorKind;
using base::fail;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kTryTime = 1'500;  // In milliseconds; each further try waits longer.
constexpr int kTries = 3;
constexpr milliseconds kPatience{10'000};
constexpr milliseconds kLongestNap{500};

bool library_is_ready() {
  static const bool kReady = ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS;
  return kReady;
}

struct Wait {
  explicit Wait(const asio::any_io_executor& executor) : timer(executor) {}
  asio::steady_timer timer;
  std::vector<asio::posix::stream_descriptor> copies;
};

// Until one of the sockets, which belong to the library, has something for it, or
// `most` has passed.
base::Task<void> wait_for_any(std::vector<pollfd> sockets, milliseconds most) {
  auto executor = co_await asio::this_coro::executor;
  auto wait = std::make_shared<Wait>(executor);
  wait->copies.reserve(sockets.size());
  wait->timer.expires_after(most);
  for (const auto& socket : sockets) {
    int copy = ::fcntl(socket.fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) continue;  // Then the time alone wakes us.
    wait->copies.emplace_back(executor, copy);
    using Kind = asio::posix::stream_descriptor;
    wait->copies.back().async_wait(
        (socket.events & POLLOUT) != 0 ? Kind::wait_write : Kind::wait_read,
        [wait](boost::system::error_code) { wait->timer.cancel(); });
  }
  boost::system::error_code woken;
  co_await wait->timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  wait->copies.clear();
}

std::string first_label(const std::string& name) { return name.substr(0, name.find('.')); }

}  // namespace

// Questions of one look. The library reads the machine's configuration anew for each.
class Dns::Lookup {
 public:
  static base::Result<std::unique_ptr<Lookup>> open(const std::string& server) {
    auto out = std::unique_ptr<Lookup>(new Lookup);
    ares_options options{};
    options.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES;
    options.timeout = kTryTime;
    options.tries = kTries;
    int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES;
    if (!library_is_ready() || ares_init_options(&out->channel_, &options, mask) != ARES_SUCCESS) {
      out->channel_ = nullptr;
      return fail(ErrorKind::kUnavailable, "no name server can be asked");
    }
    if (!server.empty() &&
        ares_set_servers_ports_csv(out->channel_, server.c_str()) != ARES_SUCCESS) {
      return fail(ErrorKind::kInvalid, "not the address of a name server");
    }
    return out;
  }
  ~Lookup() {
    if (channel_ != nullptr) ares_destroy(channel_);  // Calls back what is under way.
  }
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  /// The answer's bytes.
  base::Task<base::Result<std::string>> ask(std::string name, RecordType type,
                                            base::Deadline until);

 private:
  Lookup() = default;
  static void on_answer(void* self, int status, int /*timeouts*/, unsigned char* bytes, int size);
  [[nodiscard]] std::vector<pollfd> sockets() const;
  void process(std::vector<pollfd> sockets);
  [[nodiscard]] milliseconds nap() const;

  // Before the channel, whose end calls back.
  bool answered_ = false;
  int status_ = ARES_SUCCESS;
  std::string answer_;
  ares_channel channel_ = nullptr;
};

void Dns::Lookup::on_answer(void* self, int status, int /*timeouts*/, unsigned char* bytes,
                            int size) {
  auto& lookup = *static_cast<Lookup*>(self);
  lookup.answered_ = true;
  lookup.status_ = status;
  if (bytes != nullptr && size > 0) {
    lookup.answer_.assign(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  }
}

std::vector<pollfd> Dns::Lookup::sockets() const {
  std::array<ares_socket_t, ARES_GETSOCK_MAXNUM> found{};
  auto bits = static_cast<unsigned>(ares_getsock(channel_, found.data(), ARES_GETSOCK_MAXNUM));
  std::vector<pollfd> out;
  for (unsigned i = 0; i < found.size(); ++i) {
    bool read = ARES_GETSOCK_READABLE(bits, i) != 0;
    bool write = ARES_GETSOCK_WRITABLE(bits, i) != 0;
    if (!read && !write) continue;
    auto events = static_cast<short>((read ? POLLIN : 0) | (write ? POLLOUT : 0));
    out.push_back({.fd = found[i], .events = events, .revents = 0});
  }
  return out;
}

void Dns::Lookup::process(std::vector<pollfd> sockets) {
  bool any = false;
  if (::poll(sockets.data(), sockets.size(), 0) > 0) {
    for (const auto& socket : sockets) {
      if (socket.revents == 0) continue;
      any = true;
      bool read = (socket.revents & (POLLIN | POLLERR | POLLHUP)) != 0;
      bool write = (socket.revents & POLLOUT) != 0;
      ares_process_fd(channel_, read ? socket.fd : ARES_SOCKET_BAD,
                      write ? socket.fd : ARES_SOCKET_BAD);
    }
  }
  if (!any) ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

milliseconds Dns::Lookup::nap() const {
  timeval most{.tv_sec = 0, .tv_usec = kLongestNap.count() * 1'000};
  timeval left{};
  const timeval* time = ares_timeout(channel_, &most, &left);
  return milliseconds(time->tv_sec * 1'000 + time->tv_usec / 1'000 + 1);
}

base::Task<base::Result<std::string>> Dns::Lookup::ask(std::string name, RecordType type,
                                                       base::Deadline until) {
  answered_ = false;
  answer_.clear();
  ares_query(channel_, name.c_str(), /*dnsclass=IN*/ 1, number_of(type), &Lookup::on_answer, this);
  while (!answered_) {
    auto waits_for = sockets();
    co_await wait_for_any(waits_for, nap());
    if (co_await base::http::was_cancelled()) {
      ares_cancel(channel_);
      co_return base::http::cancelled();
    }
    if (steady_clock::now() >= until) {
      ares_cancel(channel_);
      co_return fail(ErrorKind::kTimeout, "the name server did not answer in time");
    }
    process(std::move(waits_for));
  }
  // What has a whole answer is judged by that.
  if (!answer_.empty()) co_return std::move(answer_);
  co_return fail(ErrorKind::kUnavailable, "no answer of the name server")
      .with_detail(ares_strerror(status_));
}

base::Result<std::string> name_server_of(std::string_view url) {
  auto endpoint = settings::parse_endpoint(url);
  boost::system::error_code error;
  if (endpoint) asio::ip::make_address(endpoint->host, error);
  if (!endpoint || error || endpoint->scheme != "dns" || !endpoint->path.empty()) {
    return fail(ErrorKind::kInvalid, "must be dns://address or dns://address:port");
  }
  bool is_v6 = endpoint->host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", endpoint->host, is_v6 ? "]" : "",
                     endpoint->port.value_or(53));
}

base::Task<base::Result<Found>> Dns::look(base::RequestContext context) {
  CO_ASSIGN_OR_RETURN(auto lookup, Lookup::open(options_.server));
  CO_ASSIGN_OR_RETURN(auto message,
                      co_await lookup->ask(options_.name, RecordType::kSrv, context.deadline));
  CO_ASSIGN_OR_RETURN(auto services, read_services(message, options_.name));
  Found out;
  out.fresh_for = std::chrono::hours(1);
  std::map<std::string, std::vector<AddressRecord>> known;
  for (const auto& service : services) {
    out.fresh_for = std::min(out.fresh_for, service.ttl);
    if (service.target.empty()) continue;  // "." says: not here.
    auto looked = known.find(service.target);
    if (looked == known.end()) {
      if (known.size() >= kTargets) {
        out.leave_out(service.target, "more than 64 targets");
        continue;
      }
      looked = known.emplace(service.target, std::vector<AddressRecord>()).first;
      for (auto type : {RecordType::kA, RecordType::kAaaa}) {
        CO_ASSIGN_OR_RETURN(message, co_await lookup->ask(service.target, type, context.deadline));
        CO_ASSIGN_OR_RETURN(auto addresses, read_addresses(message, service.target, type));
        for (auto& one : addresses) looked->second.push_back(std::move(one));
      }
      if (looked->second.empty()) out.leave_out(service.target, "the target has no address");
    }
    for (const auto& address : looked->second) {
      out.fresh_for = std::min(out.fresh_for, address.ttl);
      auto way = way_to(service.target, service.port, address.address, options_.plain);
      if (way) {
        out.add(first_label(service.target), std::move(*way), options_.plain);
      } else {
        out.leave_out(service.target, "not an address that may be called");
      }
    }
  }
  out.fresh_for = std::max(out.fresh_for, kShortestTtl);
  co_return out;
}

base::Task<base::Result<Found>> Dns::next(base::RequestContext context, milliseconds longest) {
  if (auto fresh = std::exchange(fresh_for_, std::nullopt)) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    timer.expires_after(std::min<milliseconds>(longest, *fresh));
    boost::system::error_code woken;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    if (co_await base::http::was_cancelled()) co_return base::http::cancelled();
  }
  context.deadline = std::min(context.deadline, steady_clock::now() + kPatience);
  auto found = co_await look(context);
  if (found) fresh_for_ = found->fresh_for;
  co_return found;
}

}  // namespace tool::discovery
