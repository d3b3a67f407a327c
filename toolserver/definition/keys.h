#pragma once

// Every key that a tool's section may have: the reader refuses others, and
// docs/tool-configuration.md is made from these lists.

#include <array>

#include "toolserver/definition/section.h"

namespace tool::definition {

inline constexpr std::array kCommonKeys = {
    Key{"kind", "command or http", "", "What the tool is."},
    Key{"description", "text", "", "What it does, for whoever chooses among tools. Required."},
    Key{"title", "text", "", "A short name for people."},
    Key{"parameters", "section of JSON Schemas", "",
        "The arguments of a call, one schema for each name; `optional = true` beside it lets a "
        "call leave it out. Others are refused."},
    Key{"read_only", "boolean", "false", "Says that it changes nothing. Then nobody is asked."},
    Key{"destructive", "boolean", "true", "A hint for people; false when nothing is lost by it."},
    Key{"idempotent", "boolean", "read_only", "A hint: calling twice is as calling once."},
    Key{"open_world", "boolean", "true", "A hint: it reaches what nobody here controls."},
    Key{"consent", "never, first or always", "always; read_only: never",
        "Whether a person is asked before a call."},
    Key{"answer", "text or json", "text",
        "json: what it answers is one JSON text, and becomes the structured result."},
    Key{"answer_schema", "section, a JSON Schema", "", "What the JSON must be; else E_INTERNAL."},
    Key{"answer_max", "bytes, 1 to 64MiB", "1MiB", "A longer answer is E_LIMIT."},
    Key{"timeout", "seconds, 0.01 to 300", "30", "Then it is stopped, and the call is E_TIMEOUT."},
    Key{"at_once", "integer, 1 to 256", "4", "Calls at a time, of one principal half of them."},
    Key{"secrets", "section", "",
        "`NAME_file`: the file that holds the secret NAME, closed to others; `NAME_env`: the "
        "variable of the service's environment. Templates use it as `{secret.NAME}`."},
};

inline constexpr std::array kCommandKeys = {
    Key{"program", "absolute path", "", "The program. Required; nobody else may write it."},
    Key{"arguments", "list of templates", "",
        "Each becomes one argument of the program. One that names an argument which the call "
        "leaves out is left out itself."},
    Key{"input", "none, json or {argument}", "none",
        "What it reads from stdin: nothing, all arguments as one JSON object, or one argument."},
    Key{"environment", "section of templates", "",
        "All variables that the program gets; nothing else is handed on."},
    Key{"folder", "absolute path", "/", "Where it runs."},
    Key{"ok_codes", "list of integers, 0 to 255", "[0]",
        "Exit codes of success; another is a result with is_error."},
    Key{"stderr", "hide or show", "hide",
        "show: a caller gets the end of what a program that failed wrote to stderr."},
};

inline constexpr std::array kHttpKeys = {
    Key{"method", "GET, HEAD, POST, PUT or DELETE", "GET", "Of the request."},
    Key{"url", "https URL with a template as its path", "",
        "Required. Scheme, host and port are fixed; a value in the path is one segment."},
    Key{"query", "section of templates", "", "One with an argument that is left out is left out."},
    Key{"headers", "section of templates", "", "Credentials go here: `Bearer {secret.token}`."},
    Key{"body", "none, json or {argument}", "none", "As `input` of a command."},
    Key{"networks", "list of networks", "[]",
        "Addresses to connect to beside public ones, such as 10.1.0.0/16 or 127.0.0.1/32."},
    Key{"ca_file", "path", "", "Certificates to trust in place of the system's."},
    Key{"pointer", "JSON Pointer", "", "The part of the JSON that is the answer."},
};

}  // namespace tool::definition
