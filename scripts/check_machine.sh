#!/bin/sh
# Says in one line what is missing, before anything is downloaded.
# usage: check_machine.sh PYTHON
set -eu

stop() {
    echo "$1" >&2
    exit 1
}

"$1" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null ||
    stop "Python 3.11 is needed and $1 is not it: install python3.11 with its venv module, or run make PYTHON=/path/to/python3.11."

java=java
[ -z "${JAVA_HOME:-}" ] || java="$JAVA_HOME/bin/java"
version=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1) || version=
[ -n "$version" ] ||
    stop "No Java was found${JAVA_HOME:+ in JAVA_HOME ($JAVA_HOME)}: install a Java 17 runtime (Debian and Ubuntu: openjdk-17-jre-headless; macOS: brew install openjdk@17)."
[ "$version" -ge 17 ] ||
    stop "Java $version is too old, Spark 4 needs 17: install a Java 17 runtime and point JAVA_HOME at it."
