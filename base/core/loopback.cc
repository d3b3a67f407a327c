#include "base/core/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <string>

namespace base {

bool is_loopback_address(std::string_view text) {
  // A NUL would end the text early for the C functions below.
  if (text.contains('\0')) return false;
  std::string address(text);
  in_addr v4{};
  if (inet_pton(AF_INET, address.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, address.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace base
