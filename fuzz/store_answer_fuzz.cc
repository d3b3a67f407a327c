// Any bytes as what an object store, or its token service, answers: nothing but names that may be
// asked for comes out, within the bounds, and no word of it reaches a log as it is.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/core/text.h"
#include "lakeproxy/storage/documents.h"
#include "lakeproxy/storage/location_rules.h"
#include "lakeproxy/storage/sts.h"
#include "lakeproxy/storage/xml.h"

namespace {

using namespace lake::storage;  // NOLINT: this file is about nothing else.

constexpr XmlLimits kLimits{.bytes = 1 << 16, .depth = 8, .elements = 500};

void require(bool holds) {
  if (!holds) std::abort();
}

std::size_t check_element(const XmlElement& element, std::size_t depth) {
  require(depth <= kLimits.depth && !element.name.empty() && !element.name.contains(':'));
  require(base::is_utf8(element.text));
  std::size_t count = 1;
  for (const auto& child : element.children) count += check_element(child, depth + 1);
  return count;
}

void check_documents(std::string_view text) {
  if (const auto root = parse_xml(text, kLimits)) {
    require(check_element(*root, 1) <= kLimits.elements);
    const auto again = parse_xml("<a>" + escape_xml(root->text) + "</a>", kLimits);
    if (again) require(again->text == root->text);
  }
  if (const auto page = read_list_page(text)) {
    require(page->objects.size() + page->unnameable <= 1'000);
    for (const auto& object : page->objects) {
      require(ObjectKey::parse(object.key.text()).has_value());
    }
    require(page->continuation.find_first_of("\r\n ") == std::string::npos);
  }
  static const std::vector asked{*ObjectKey::parse("data/a.parquet")};
  if (const auto failures = read_delete_answer(text, asked)) {
    for (const auto& one : *failures) require(one.key == asked.front());
  }
  if (const auto id = read_upload_id(text)) require(!id->empty());
  (void)read_complete_answer(text);
  if (const auto keys = read_assume_role(text)) require(!keys->credentials.session_token.empty());
}

void check_error(std::string_view text) {
  base::http::Response answer;
  answer.status = 403;
  answer.headers.add("x-amz-request-id", std::string(text.substr(0, 80)));
  answer.body = base::http::Body(std::string(text));
  const auto error = to_error(answer);
  require(std::ranges::all_of(error.detail(), [](char c) { return c >= ' ' && c <= '~'; }));
}

void check_location(std::string_view text) {
  const auto place = Location::parse(text);
  if (!place) return;
  const auto again = Location::parse(place->text());
  require(again && *again == *place && is_bucket_name(place->bucket()));
  require(!is_under(*place, *place));
  if (const auto key = place->key()) require(key->text() == place->path());
  const auto below = join(*place, "data/a.parquet");
  require(!below || is_under(*below, *place));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_documents(text);
  check_error(text);
  check_location(text);
  (void)parse_time(text);
  return 0;
}
