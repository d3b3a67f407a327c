// Any bytes: a stranger's record is never opened, nothing it holds is a fault,
// and the session's own next record is still taken after it.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "toolserver/session/record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tool::session;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  RecordStart start{.key = "0123456789abcdef0123456789abcdef", .iv = "0123456789ab"};
  RecordSealer sealer(start);
  RecordOpener opener(start);
  if (opener.open(bytes)) std::abort();
  // The same bytes as a plaintext go through, and any tail of them does not.
  std::string record = sealer.seal(bytes);
  std::string longer = record + 'x';
  if (opener.open(longer) || opener.open(std::string_view(record).substr(1))) std::abort();
  auto opened = opener.open(record);
  if (!opened || *opened != bytes || opener.open(record)) std::abort();
  return 0;
}
