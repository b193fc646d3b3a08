#!/bin/sh
# Names every tool that the build needs and this machine lacks, with the command
# that installs it. Usage: prerequisites.sh PYTHON RUST_VERSION [COMPONENT...]
# COMPONENT: parts of the Rust toolchain that are needed besides cargo (rustfmt, clippy).
set -u

python=$1
rust_version=$2
shift 2

root="sudo "
[ "$(id -u 2>/dev/null)" = 0 ] && root=""

missing=0
lacks() { # what, command that installs it
    [ "$missing" -eq 0 ] && echo "Odonata cannot be built yet. Missing on this machine:" >&2
    missing=1
    printf '\n  %s\n    install it with:  %s\n' "$1" "$2" >&2
}
has() { command -v "$1" >/dev/null 2>&1; }
package() { # names for Debian/Ubuntu, Fedora, Arch, macOS
    if has apt-get; then echo "${root}apt-get install -y $1"
    elif has dnf; then echo "${root}dnf install -y $2"
    elif has pacman; then echo "${root}pacman -S --needed $3"
    elif has brew; then echo "brew install $4"
    else echo "the package manager of your system ($1)"
    fi
}
at_least() { # found, wanted: both dotted numbers
    [ "$(printf '%s\n%s\n' "$2" "$1" | sort -t. -k1,1n -k2,2n -k3,3n | head -n 1)" = "$2" ]
}

has git || lacks "git" "$(package git git git git)"
# A compiler without the C library's headers and start files, such as Debian's gcc without
# libc6-dev, is there but links nothing.
compiles() {
    folder=$(mktemp -d 2>/dev/null) || return 0
    printf '#include <stdio.h>\nint main(void) { return puts("") < 0; }\n' >"$folder/a.c"
    "$1" -o "$folder/a" "$folder/a.c" >/dev/null 2>&1
    status=$?
    rm -rf "$folder"
    return $status
}
compiler=$(command -v cc || command -v gcc || command -v clang)
if [ -z "$compiler" ]; then
    lacks "a C compiler (cc), which links the Rust code" "$(package build-essential gcc gcc gcc)"
elif ! compiles "$compiler"; then
    lacks "the C library's headers ($compiler is there but cannot build a program)" \
        "$(package libc6-dev glibc-devel glibc gcc)"
fi

if ! has "$python"; then
    lacks "Python 3.10 or newer ($python)" \
        "$(package 'python3 python3-venv' python3 python python@3.12)"
elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    lacks "Python 3.10 or newer (found $("$python" -V 2>&1) as $python)" \
        "$(package 'python3.11 python3.11-venv' python3.11 python python@3.12), then: make PYTHON=python3.11"
elif ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    lacks "Python's venv module (of $python $version)" \
        "$(package "python$version-venv" python3 python python)"
fi

fetch="curl --proto '=https' --tlsv1.2 -sSf"
has curl || ! has wget || fetch="wget -qO-"
rustup="$fetch https://sh.rustup.rs | sh -s -- -y && . \"\$HOME/.cargo/env\""
has curl || has wget || rustup="$(package 'curl ca-certificates' curl curl curl) && $rustup"
if ! has cargo && [ -x "${HOME:-}/.cargo/bin/cargo" ]; then
    lacks "Rust on PATH (it is installed in ~/.cargo/bin)" '. "$HOME/.cargo/env"'
elif ! has cargo || ! has rustc; then
    lacks "Rust $rust_version or newer (cargo and rustc)" "$rustup"
else
    found=$(rustc --version | cut -d' ' -f2 | cut -d- -f1)
    if ! at_least "$found" "$rust_version"; then
        if has rustup; then lacks "Rust $rust_version or newer (found $found)" "rustup update stable"
        else lacks "Rust $rust_version or newer (found $found)" "$rustup"
        fi
    fi
    for component; do
        case $component in
            rustfmt) tool=cargo-fmt ;;
            clippy) tool=cargo-clippy ;;
            *) tool=$component ;;
        esac
        cargo "${tool#cargo-}" --version >/dev/null 2>&1 ||
            lacks "Rust's $component" "rustup component add $component"
    done
fi

if [ "$missing" -ne 0 ]; then
    printf '\nThen run make again; it does everything else by itself, inside this directory.\n' >&2
    exit 1
fi
