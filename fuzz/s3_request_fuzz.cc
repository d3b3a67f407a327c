// Any request that a client wants signed: it is refused, or it is an operation that is written as
// it was read. What is written has one reading, the same; no name leaves its folder, however often
// it is decoded. The first line of the input is the URL, the second the method, the rest a body.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/core/text.h"
#include "base/http/message.h"
#include "lakeproxy/delegation/s3_request.h"

namespace {

using lake::delegation::S3Address;
using lake::delegation::S3Operation;

std::string_view take_line(std::string_view& text) {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

base::Result<S3Operation> parse(const S3Address& store, base::http::Method method,
                                std::string_view url, std::string_view body) {
  ASSIGN_OR_RETURN(auto parts, lake::delegation::split_s3_url(url));
  const base::http::Headers none;
  return lake::delegation::parse_s3_request(store, {.method = method,
                                                    .host = parts.host,
                                                    .path = parts.path,
                                                    .query = parts.query,
                                                    .headers = &none,
                                                    .body = body});
}

void check_name(std::string_view name) {
  std::string text(name);
  for (int i = 0; i < 8; ++i) {
    const std::string inside = "/" + text + "/";
    if (text.starts_with('/') || inside.contains("/../") || inside.contains("/./")) std::abort();
    auto next = base::percent_decode(text);
    if (!next || *next == text) break;
    text = std::move(*next);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view url = take_line(input);
  const auto method = base::http::parse_method(take_line(input));
  (void)lake::delegation::read_delete_body(input);
  for (auto addressing :
       {lake::storage::Addressing::kPath, lake::storage::Addressing::kVirtualHost}) {
    const S3Address store{
        .origin = {.host = "s3.example", .port = 80}, .addressing = addressing, .bucket = "bucket"};
    auto read = parse(store, method, url, input);
    if (!read) continue;
    for (const auto& key : read->keys) check_name(key.text());
    check_name(read->prefix);
    const std::string written = lake::delegation::url_of(store, *read);
    auto again = parse(store, method, written, input);
    if (!again || again->action != read->action || again->keys != read->keys ||
        again->prefix != read->prefix || lake::delegation::url_of(store, *again) != written) {
      std::abort();
    }
  }
  return 0;
}
