#include "toolserver/discovery/dns_answer.h"

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <resolv.h>

#include <algorithm>
#include <array>
#include <functional>
#include <tuple>
#include <utility>

#include "base/core/text.h"

namespace tool::discovery {
namespace {

using base::ErrorKind;
using base::fail;

constexpr std::uint32_t kLongestTtl = 7 * 24 * 3'600;

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

std::string_view without_dot(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  return name;
}

bool same_name(std::string_view a, std::string_view b) {
  return lower(without_dot(a)) == lower(without_dot(b));
}

base::Error broken(std::string_view what) {
  return fail(ErrorKind::kInvalid, "the name server's answer is broken")
      .with_detail(std::string(what));
}

// A time whose highest bit is set means zero. Source: RFC 2181, section 8.
std::chrono::seconds ttl_of(const ns_rr& record) {
  std::uint32_t ttl = ns_rr_ttl(record);
  if (ttl > 0x7FFF'FFFFU) ttl = 0;
  return std::chrono::seconds(std::min(ttl, kLongestTtl));
}

std::size_t size_of(const ns_rr& record) { return static_cast<std::size_t>(ns_rr_rdlen(record)); }

base::Status check_question(ns_msg& message, std::string_view name, int type) {
  ns_rr question;
  if (ns_msg_count(message, ns_s_qd) != 1 || ns_parserr(&message, ns_s_qd, 0, &question) != 0) {
    return broken("not one question");
  }
  if (!same_name(ns_rr_name(question), name) || ns_rr_type(question) != type ||
      ns_rr_class(question) != ns_c_in) {
    return broken("it answers another question");
  }
  return {};
}

base::Result<ns_msg> open(std::string_view bytes, std::string_view name, int type) {
  ns_msg message;
  // The library's sizes are ints.
  if (bytes.size() > 65'535 || ns_initparse(reinterpret_cast<const unsigned char*>(bytes.data()),
                                            static_cast<int>(bytes.size()), &message) != 0) {
    return broken("not a message");
  }
  if (ns_msg_getflag(message, ns_f_qr) == 0) return broken("no answer");
  if (ns_msg_getflag(message, ns_f_tc) != 0) return broken("it is cut off");
  RETURN_IF_ERROR(check_question(message, name, type));
  int code = ns_msg_getflag(message, ns_f_rcode);
  if (code != ns_r_noerror && code != ns_r_nxdomain) {
    return fail(ErrorKind::kUnavailable, "the name server could not say")
        .with_detail("response code " + std::to_string(code));
  }
  if (static_cast<std::size_t>(ns_msg_count(message, ns_s_an)) > kRecords) {
    return fail(ErrorKind::kTooLarge, "the name server's answer has more than 512 records");
  }
  return message;
}

// Calls `take` with every record of the question.
base::Status each(std::string_view bytes, std::string_view name, int type,
                  const std::function<base::Status(const ns_msg&, const ns_rr&)>& take) {
  ASSIGN_OR_RETURN(ns_msg message, open(bytes, name, type));
  if (ns_msg_getflag(message, ns_f_rcode) == ns_r_nxdomain) return {};
  for (int i = 0; i < ns_msg_count(message, ns_s_an); ++i) {
    ns_rr record;
    if (ns_parserr(&message, ns_s_an, i, &record) != 0) return broken("a record");
    // A record of another name was not asked for, whoever put it there.
    if (!same_name(ns_rr_name(record), name) || ns_rr_type(record) != type ||
        ns_rr_class(record) != ns_c_in) {
      continue;
    }
    RETURN_IF_ERROR(take(message, record));
  }
  return {};
}

base::Result<ServiceRecord> read_service(const ns_msg& message, const ns_rr& record) {
  constexpr std::size_t kNumbers = 6;
  const unsigned char* data = ns_rr_rdata(record);
  if (size_of(record) <= kNumbers) return broken("an SRV record");
  std::array<char, NS_MAXDNAME> target{};
  int used = dn_expand(ns_msg_base(message), ns_msg_end(message), data + kNumbers, target.data(),
                       static_cast<int>(target.size()));
  if (used < 0 || static_cast<std::size_t>(used) != size_of(record) - kNumbers) {
    return broken("the target of an SRV record");
  }
  auto number = [data](std::size_t at) {
    return static_cast<std::uint16_t>(data[at] << 8 | data[at + 1]);
  };
  return ServiceRecord{.target = lower(without_dot(target.data())),
                       .port = number(4),
                       .priority = number(0),
                       .weight = number(2),
                       .ttl = ttl_of(record)};
}

}  // namespace

int number_of(RecordType type) {
  switch (type) {
    case RecordType::kA: return ns_t_a;
    case RecordType::kAaaa: return ns_t_aaaa;
    case RecordType::kSrv: break;
  }
  return ns_t_srv;
}

base::Result<std::vector<ServiceRecord>> read_services(std::string_view message,
                                                       std::string_view name) {
  std::vector<ServiceRecord> out;
  RETURN_IF_ERROR(
      each(message, name, ns_t_srv, [&](const ns_msg& whole, const ns_rr& record) -> base::Status {
        ASSIGN_OR_RETURN(auto service, read_service(whole, record));
        out.push_back(std::move(service));
        return {};
      }));
  std::ranges::sort(out, {}, [](const ServiceRecord& one) {
    return std::tuple(one.priority, -one.weight, one.target, one.port);
  });
  return out;
}

base::Result<std::vector<AddressRecord>> read_addresses(std::string_view message,
                                                        std::string_view name, RecordType type) {
  bool is_v6 = type == RecordType::kAaaa;
  std::vector<AddressRecord> out;
  RETURN_IF_ERROR(
      each(message, name, number_of(type), [&](const ns_msg&, const ns_rr& record) -> base::Status {
        if (size_of(record) != (is_v6 ? 16U : 4U)) return broken("an address");
        std::array<char, INET6_ADDRSTRLEN> text{};
        if (inet_ntop(is_v6 ? AF_INET6 : AF_INET, ns_rr_rdata(record), text.data(), text.size()) ==
            nullptr) {
          return broken("an address");
        }
        out.push_back({text.data(), ttl_of(record)});
        return {};
      }));
  return out;
}

}  // namespace tool::discovery
