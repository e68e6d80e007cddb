#!/usr/bin/env bash
# What bash offers at the end of a command line, and that it knows the options of the binary. Usage: [BINARY]
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
offers stepcast "" -- run import export edit explain judge campaign validate schema sweep results scale check diff compare topology collective operator model keys new list schedule plan accuracy calibrate serve choices worker completion
offers stepcast run --js -- --json
offers stepcast sweep --sh -- --shard
offers stepcast model --js -- --json
offers stepcast validate --s -- --set
offers stepcast run scenarios/telechat3-36b-2 -- scenarios/telechat3-36b-2048.yaml
offers stepcast topology scenarios/clusters/atlas-900-a3 -- scenarios/clusters/atlas-900-a3.yaml
offers stepcast collective all_ -- all_reduce all_gather all_to_all
offers stepcast collective all_reduce --cluster scenarios/clusters/idea -- scenarios/clusters/ideal.yaml
offers stepcast collective all_reduce --algorithm o -- one_shot one_sided
offers stepcast operator res -- residual_add
offers stepcast operator matmul --type f -- fp16 fp8
offers stepcast completion "" -- bash zsh fish
offers stepcast schema s -- scenario sweep
offers stepcast validate scenarios/schemas/pl -- scenarios/schemas/plan.json
offers stepcast schedule zb_ -- zb_h1 zb_h2 zb_v
offers stepcast schedule 1f1b --warmup l -- less_memory

if [ $# -gt 0 ]; then
  # The scripts of the other shells are made by the binary; a shell that is here reads its own.
  scripts=$(mktemp -d)
  trap 'rm -rf "$scripts"' EXIT
  for shell in zsh fish; do
    "$1" completion "$shell" >"$scripts/stepcast.$shell"
    for word in "$(_stepcast_options run)" "$(_stepcast_options edit)"; do
      for option in $word; do
        if ! grep -qE -- "--${option#--}\\[|-l ${option#--} " "$scripts/stepcast.$shell"; then
          echo "the script for $shell lacks $option"
          failed=1
        fi
      done
    done
    if command -v "$shell" >/dev/null && ! "$shell" -n "$scripts/stepcast.$shell"; then failed=1; fi
  done
  if command -v fish >/dev/null; then
    found=$(fish --no-config -c "source $scripts/stepcast.fish; complete -C 'stepcast schedule zb_'" | paste -sd' ')
    if [ "$found" != "zb_h1 zb_h2 zb_v" ]; then echo "fish offers: $found"; failed=1; fi
  fi

  for command in "" run explain campaign validate schema sweep results scale check diff compare topology collective operator model keys new list schedule plan accuracy calibrate serve choices worker completion; do
    # Options begin a line of the help; ${command:+...}: no word at all for the binary itself.
    built=$("$1" ${command:+"$command"} --help | grep -oE '^ +(-[a-z],)?--[a-z-]+' | grep -oE -- '--[a-z-]+' | sort -u)
    known=$({ _stepcast_options "$command"; [ -n "$command" ] || echo --verbose --quiet; } | tr ' ' '\n' | sort -u)
    if [ "$built" != "$known" ]; then
      echo "options of 'stepcast $command':" "$(diff <(echo "$known") <(echo "$built"))"
      failed=1
    fi
  done

  # What the schema allows for a key is what the shell offers for it.
  allowed() { "$1" schema | python3 -c '
import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1:]:
    value = value["properties"][key]
print(" ".join(word for part in [value, *value.get("anyOf", [])] for word in part.get("enum", [])))' "${@:2}"; }
  offers stepcast schedule "" -- $(allowed "$1" schedule pipeline)
  offers stepcast collective all_reduce --algorithm "" -- $(allowed "$1" communication algorithm all_reduce)
fi
exit $failed
