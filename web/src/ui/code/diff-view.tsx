/** The fields that differ, one line each. */
export function DiffView({ before, after }: { before: object; after: object }) {
  const old = new Map(flatten(before));
  const now = new Map(flatten(after));
  const names = [...new Set([...old.keys(), ...now.keys()])].filter(
    (name) => old.get(name) !== now.get(name),
  );
  if (names.length === 0) return <p className="text-muted">No field differs.</p>;
  return (
    <ul className="border-t border-line font-mono text-xs">
      {names.map((name) => (
        <li
          key={name}
          className="grid gap-x-4 border-b border-line py-1.5 sm:grid-cols-[minmax(8rem,1fr)_2fr]"
        >
          <span className="break-all text-muted">{name}</span>
          <span className="min-w-0">
            {old.has(name) && <del className="block break-all text-muted">− {old.get(name)}</del>}
            {now.has(name) && <ins className="block break-all no-underline">+ {now.get(name)}</ins>}
          </span>
        </li>
      ))}
    </ul>
  );
}

function flatten(value: unknown, path = ''): [string, string][] {
  if (typeof value !== 'object' || value === null) return [[path, JSON.stringify(value) ?? 'undefined']];
  const entries = Object.entries(value);
  if (entries.length === 0) return path === '' ? [] : [[path, Array.isArray(value) ? '[]' : '{}']];
  return entries.flatMap(([key, one]) => flatten(one, path === '' ? key : `${path}.${key}`));
}
