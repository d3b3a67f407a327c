#include "lakeproxy/settings/text_rules.h"

#include <algorithm>

namespace lake::settings {
namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }
bool is_alphanumeric(char c) { return is_letter(c) || is_digit(c); }

template <class Allowed>
bool all(std::string_view text, Allowed allowed) {
  return std::ranges::all_of(text, allowed);
}

bool is_host_character(char c) { return is_alphanumeric(c) || c == '-' || c == '.' || c == ':'; }

}  // namespace

std::string_view postgres_host_rule(std::string_view text) {
  bool good = text.starts_with('/')
                  ? text.find_first_of(" '\"\\,") == std::string_view::npos
                  : all(text, [](char c) { return is_host_character(c) || c == '_'; });
  return good ? "" : "must be a host name, an address or the folder of a socket";
}

std::string_view listen_host_rule(std::string_view text) {
  bool good = !text.empty() && all(text, is_host_character);
  return good ? "" : "must be an address, such as 127.0.0.1 or ::";
}

std::string_view password_rule(std::string_view text) {
  bool good = text.find_first_of(" '\"\\") == std::string_view::npos;
  return good ? "" : "must be free of spaces, quotes and backslashes";
}

std::string_view role_rule(std::string_view text) {
  constexpr std::size_t kMax = 40;
  const bool good = !text.empty() && text.size() <= kMax && !is_digit(text.front()) &&
                    !text.starts_with("pg_") &&
                    all(text, [](char c) { return is_lower(c) || is_digit(c) || c == '_'; });
  return good ? "" : "must be 1 to 40 lower-case letters, digits or '_', not beginning with pg_";
}

std::string_view bucket_rule(std::string_view text) {
  auto edge = [](char c) { return is_lower(c) || is_digit(c); };
  bool good = text.size() >= 3 && text.size() <= 63 && edge(text.front()) && edge(text.back()) &&
              text.find("..") == std::string_view::npos &&
              all(text, [&](char c) { return edge(c) || c == '-' || c == '.'; });
  return good ? "" : "must be the name of a bucket: lower-case letters, digits, '-' and '.'";
}

std::string_view sts_rule(std::string_view text) {
  if (text.empty() || text == "aws" || text == "none") return "";
  constexpr std::string_view kHttp = "http://";
  constexpr std::string_view kHttps = "https://";
  std::string_view host;
  if (text.starts_with(kHttps)) host = text.substr(kHttps.size());
  if (text.starts_with(kHttp)) host = text.substr(kHttp.size());
  bool good = !host.empty() && all(host, is_host_character);
  return good ? "" : "must be aws, none, or an address such as https://host:port";
}

std::string_view folder_rule(std::string_view text) {
  constexpr std::string_view kScheme = "s3://";
  bool good = text.starts_with(kScheme) && text.ends_with('/');
  if (good) {
    const std::string_view place = text.substr(kScheme.size());
    good = bucket_rule(place.substr(0, place.find('/'))).empty();
    for (std::string_view wrong : {"//", "/./", "/../", "?", "#"}) {
      good = good && !place.contains(wrong);
    }
    good = good && all(place, [](char c) { return static_cast<unsigned char>(c) >= ' '; });
  }
  return good ? "" : "must be a folder such as s3://bucket/raw/";
}

std::string_view region_rule(std::string_view text) {
  bool good = !text.empty() && all(text, [](char c) { return is_alphanumeric(c) || c == '-'; });
  return good ? "" : "must be letters, digits and '-'";
}

std::string_view not_empty_rule(std::string_view text) {
  return text.empty() ? "must not be empty" : "";
}

std::string_view token_secret_rule(std::string_view text) {
  return text.empty() || text.size() >= 32 ? "" : "must have 32 bytes or more";
}

std::string_view absolute_path_rule(std::string_view text) {
  return text.empty() || text.starts_with('/') ? "" : "must be an absolute path";
}

}  // namespace lake::settings
