#!/usr/bin/env bash
# What bash offers at the end of a command line.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/completion/stepcast.bash

failed=0
# offers WORD... -- CANDIDATE...: completing the last WORD offers exactly the candidates.
offers() {
  local words=() expected
  while [ "$1" != -- ]; do words+=("$1"); shift; done
  shift
  expected=$(printf '%s\n' "$@" | sort)
  COMP_WORDS=("${words[@]}")
  COMP_CWORD=$((${#words[@]} - 1))
  _stepcast || true   # compopt fails outside of a completion
  if [ "$(printf '%s\n' "${COMPREPLY[@]}" | sort)" != "$expected" ]; then
    echo "after '${words[*]}' offered: ${COMPREPLY[*]}, expected: $*"
    failed=1
  fi
}

offers stepcast ru -- run
offers stepcast "" -- run validate schema topology collective model completion
offers stepcast run --js -- --json
offers stepcast run scenarios/telechat3-36b-2 -- scenarios/telechat3-36b-2048.yaml
offers stepcast topology scenarios/clusters/atlas-900-a3 -- scenarios/clusters/atlas-900-a3.yaml
offers stepcast collective all_ -- all_reduce all_gather all_to_all
offers stepcast collective all_reduce --cluster scenarios/clusters/idea -- scenarios/clusters/ideal.yaml
offers stepcast completion "" -- bash
exit $failed
