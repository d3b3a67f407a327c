#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "base/core/clock.h"
#include "toolserver/app/command.h"
#include "toolserver/app/new_files.h"

namespace tool::app {
namespace {

constexpr mode_t kOwnerOnly = 0600;

// A whole configuration for this machine, with a tool to begin from.
constexpr std::string_view kConfiguration = R"toml(mode = "simple"
server_url = "ws://127.0.0.1:7443/scp/v3"

[server]
port = 7443

[security]
allow_insecure_transit = true      # plaintext, and only to this machine
api_key_scopes = ["cap:list", "tool:invoke:tools.*"]

# A tool of your own: a program, and what a call hands to it. There is no shell.
[tools.count]
kind = "command"
description = "Counts the words of a text."
program = "/usr/bin/wc"
arguments = ["-w"]
input = "{text}"
read_only = true                   # else a person is asked before each call

[tools.count.parameters.text]
type = "string"
maxLength = 65536
)toml";

int refuse_init(std::string_view message) {
  fmt::print(stderr, "{}\n", message);
  return 1;
}

}  // namespace

int init(const InitFlags& flags) {
  std::filesystem::path folder(flags.folder);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return refuse_init(fmt::format("{}: cannot be made", folder.string()));
  // Looked for before anything is written, so that nothing is half done.
  for (const char* name : {"securetool.toml", "securetool.yaml", "securetool.yml", ".env"}) {
    if (std::filesystem::exists(std::filesystem::symlink_status(folder / name, error))) {
      return refuse_init(
          fmt::format("{}: is there already; nothing was written", (folder / name).string()));
    }
  }
  base::SystemRandom random;
  for (const auto& [name, text] :
       {std::pair<const char*, std::string>{".env", fresh_secrets(random)},
        {"securetool.toml", std::string(kConfiguration)}}) {
    auto written = write_new((folder / name).string(), text, kOwnerOnly);
    if (!written) return refuse_init(written.error().message());
  }
  fmt::print(
      "Wrote {0}/securetool.toml and {0}/.env, which holds new secrets and is for you alone.\n\n"
      "In that folder:\n"
      "  securetool serve                              # and in another terminal, there too:\n"
      "  securetool list\n"
      "  securetool call tools.count text='one two'    # 2\n\n"
      "Then make [tools.count] in securetool.toml your own program.\n",
      folder.lexically_normal().string() == "." ? std::string(".")
                                                : folder.lexically_normal().string());
  return 0;
}

}  // namespace tool::app
