#include "lakeproxy/ducklake/lake/path_names.h"

namespace lake::ducklake {
namespace {

constexpr std::size_t kMaxName = 64;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

std::string cleaned(std::string_view name) {
  std::string text;
  for (char c : name.substr(0, kMaxName)) text.push_back(is_plain(c) ? c : '_');
  return text;
}

}  // namespace

std::string path_name(std::string_view name, std::string_view uuid) {
  std::string text = cleaned(name);
  return text == name ? text : unique_path_name(name, uuid);
}

std::string unique_path_name(std::string_view name, std::string_view uuid) {
  return cleaned(name) + "-" + std::string(uuid.substr(0, 8));
}

}  // namespace lake::ducklake
