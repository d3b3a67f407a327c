#!/usr/bin/env bash
# Compiles through the cache in a way that any clone of the repository shares:
# paths of the repository become relative to the build folder, which is two
# folders down, so that neither objects nor the precompiled header name a clone.
# usage: compile.sh ROOT COMPILER [ARGUMENT...]
root=$1/
shift
# The sloppiness lets files that use the precompiled header be cached.
exec env CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros \
  ccache "${@//"$root"/../../}"
