#include "bench/requests/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace bench {
namespace {

using base::ErrorKind;

base::Result<std::string> read_body(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  if (!file || !(bytes << file.rdbuf())) {
    return base::fail(ErrorKind::kInvalid, "a body cannot be read: " + path);
  }
  return std::move(bytes).str();
}

base::Result<ScriptedRequest> parse(const std::string& line) {
  const auto method_end = line.find(' ');
  const auto target_end = line.find(' ', method_end + 1);
  ScriptedRequest request;
  request.method = base::http::parse_method(line.substr(0, method_end));
  if (method_end == std::string::npos || request.method == base::http::Method::kOther) {
    return base::fail(ErrorKind::kInvalid, "not METHOD TARGET BODY: " + line.substr(0, 100));
  }
  request.target = line.substr(method_end + 1, target_end - method_end - 1);
  if (target_end != std::string::npos) request.body = line.substr(target_end + 1);
  if (request.body.starts_with('@')) {
    ASSIGN_OR_RETURN(request.body, read_body(request.body.substr(1)));
  }
  return request;
}

base::Result<Script> read_script(const std::string& path) {
  std::ifstream file(path);
  Script script;
  for (std::string line; std::getline(file, line);) {
    ASSIGN_OR_RETURN(auto request, parse(line));
    script.push_back(std::move(request));
  }
  if (!file.eof() || script.empty()) {
    return base::fail(ErrorKind::kInvalid, "no requests can be read: " + path);
  }
  return script;
}

}  // namespace

base::Result<std::vector<Script>> read_scripts(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    paths.push_back(entry.path().string());
  }
  if (error || paths.empty()) {
    return base::fail(ErrorKind::kInvalid, "no scripts in the folder: " + folder);
  }
  std::ranges::sort(paths);
  std::vector<Script> scripts;
  for (const auto& path : paths) {
    ASSIGN_OR_RETURN(auto script, read_script(path));
    scripts.push_back(std::move(script));
  }
  return scripts;
}

}  // namespace bench
