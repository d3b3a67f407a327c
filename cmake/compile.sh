#!/usr/bin/env bash
# Compiles through the cache in a way that any clone of the repository shares:
# paths of the repository become relative to the build folder, which is two
# folders down, so that no object names a clone.
# A precompiled header does name the clone that made it, and is of no use once
# that is gone. So each clone makes its own, and what the cache knows it by is a
# sum of all that went into it, which is the same in every clone.
# usage: compile.sh ROOT COMPILER [ARGUMENT...]
set -euo pipefail
root=$1/
shift
arguments=("${@//"$root"/../../}")
arguments=("${arguments[@]/%"${root%/}"/../..}")

# value_of OPTION: the argument behind it.
value_of() {
  local i
  for ((i = 0; i < ${#arguments[@]} - 1; i++)); do
    [[ ${arguments[i]} == "$1" ]] && echo "${arguments[i + 1]}" && return
  done
}

# Of the compiler, its arguments, and every file that was read.
sum_of_header() {
  "${arguments[0]}" --version
  echo "${arguments[@]}"
  sed -e '1s/^[^:]*://' -e 's/\\$//' "$(value_of -MF)" | tr -s ' \n' '\n' | sed '/^$/d' | sort -u |
    while read -r file; do sha256sum <"$file"; done
}

output=$(value_of -o)
if [[ $output == *.pch ]]; then
  rm -f "$output.sum"
  "${arguments[@]}"
  sum_of_header | sha256sum >"$output.sum"
  exit
fi
# The sloppiness lets files that use the precompiled header be cached.
exec env CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1 CCACHE_SLOPPINESS=pch_defines,time_macros \
  ccache "${arguments[@]}"
