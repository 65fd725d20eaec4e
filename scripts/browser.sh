#!/usr/bin/env bash
# Sees to it that Chromium is there for the tests of the pages, by Debian's package.
set -eu
command -v chromium >/dev/null 2>&1 && exit 0
if ! command -v apt-get >/dev/null 2>&1; then
  echo "The tests of the pages need Chromium, and there is no apt-get to install it." >&2
  echo "Install Chromium so that the command chromium starts it, then run this again." >&2
  exit 1
fi
sudo=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null 2>&1 || {
    echo "The tests of the pages need Chromium; as root: apt-get install chromium" >&2
    exit 1
  }
  sudo="sudo"
fi
echo "installing Chromium for the tests of the pages"
export DEBIAN_FRONTEND=noninteractive
if ! $sudo apt-get install --yes --quiet --no-install-recommends chromium >/dev/null 2>&1; then
  $sudo apt-get update --quiet >/dev/null
  $sudo apt-get install --yes --quiet --no-install-recommends chromium >/dev/null
fi
command -v chromium >/dev/null 2>&1 || {
  echo "apt-get installed no command called chromium." >&2
  exit 1
}
