#!/bin/sh
# Checks the model: the protocol holds, and each broken variant breaks the one property that its file names.
#
#   model/check.sh [tla2tools.jar] [name ...]
#
# The jar can also be given as TLA2TOOLS. Names are those of .cfg files without the ending; without names all are checked.
set -u
case "${1:-}" in
*.jar) jar=$1 && shift ;;
*) jar=${TLA2TOOLS:-} ;;
esac
if [ ! -f "$jar" ]; then
  echo "Give the path of tla2tools.jar as the first argument or in TLA2TOOLS." >&2
  exit 2
fi
jar=$(realpath "$jar")
cd "$(dirname "$0")" || exit 2
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
[ $# -gt 0 ] || set -- $(ls *.cfg | sed 's/\.cfg$//')

failed=0
for name in "$@"; do
  out=$scratch/$name.txt
  java -XX:+UseParallelGC -cp "$jar" tlc2.TLC -workers 1 -deadlock -metadir "$scratch/states" -config "$name.cfg" order.tla >"$out" 2>&1
  count=$(sed -n 's/^\([0-9]*\) states generated, \([0-9]*\) distinct.*/\2 states/p' "$out" | tail -n 1)
  case "$name" in
  broken-*)
    property=$(sed -n 's/^\(INVARIANTS\|PROPERTIES\) //p' "$name.cfg")
    expected="\(Invariant\|Action property\) $property is violated"
    verdict="breaks $property"
    ;;
  *)
    expected='Model checking completed. No error has been found.'
    verdict=holds
    ;;
  esac
  if grep -q "$expected" "$out"; then
    echo "ok      $name: $verdict, $count"
  else
    failed=1
    echo "NOT OK  $name: expected that it $verdict"
    grep '^Error' "$out" | head -n 5
  fi
done
exit $failed
