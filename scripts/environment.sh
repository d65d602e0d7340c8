# For the scripts beside it, which source it: finds a Python and makes virtual environments.
#
#   $PYTHON   the interpreter to use, where the first one found is not the right one

# Thousands of processes start in the tests: without compiled modules each of them takes half as long again.
unset PYTHONDONTWRITEBYTECODE

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Whether $1 is a Python that extproxy runs on.
is_new_enough() {
  "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

# Prints every Python of 3.11 or newer on this machine, one a line, the oldest first: VERSION PATH.
pythons() {
  local candidate
  {
    for candidate in python3 python3.{11..19} "$HOME"/.pyenv/versions/*/bin/python3; do
      candidate=$(command -v "$candidate" 2>/dev/null) || continue
      is_new_enough "$candidate" || continue
      "$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2], sys.executable)'
    done
  } | sort -t. -k2,2n -u
}

# Prints the Python to use, or ends the script with a sentence.
a_python() {
  local found
  if [ -n "${PYTHON:-}" ]; then
    is_new_enough "$PYTHON" || {
      echo "PYTHON is $PYTHON, which is not a Python of 3.11 or newer with the venv module." >&2
      return 1
    }
    command -v "$PYTHON"
    return
  fi
  if is_new_enough python3; then
    command -v python3
    return
  fi
  found=$(pythons | head -n 1)
  if [ -z "$found" ]; then
    echo "extproxy needs Python 3.11 or newer with the venv module, and there is none here." >&2
    echo "Install one (Debian, Ubuntu: apt-get install python3 python3-venv), or say where it is: PYTHON=/path/to/python3 $0" >&2
    return 1
  fi
  echo "${found#* }"
}

# environment FOLDER PYTHON PIP-ARGUMENT...
#
# Makes a virtual environment and installs into it, unless that was done before
# with the same arguments and the same pyproject.toml.
environment() {
  local folder=$1 python=$2 wanted
  shift 2
  wanted="$("$python" -c 'import sys; print(sys.version, sys.executable)') $* $(cksum < "$root/pyproject.toml")"
  if [ -x "$folder/bin/python" ] && [ "$(cat "$folder/made-of" 2>/dev/null)" = "$wanted" ]; then
    echo "Using the virtual environment in ${folder#"$root"/}"
    return
  fi
  echo "Making a virtual environment in ${folder#"$root"/} with $python"
  rm -rf "$folder"
  "$python" -m venv "$folder"
  # The venv module brings the pip of its Python's release; dependency groups need 25.1.
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "pip>=25.1"
  echo "Installing extproxy and what it needs"
  (cd "$root" && "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@")
  echo "$wanted" > "$folder/made-of"
}
