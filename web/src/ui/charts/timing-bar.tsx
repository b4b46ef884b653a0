/** A part has the same colour in every bar. */
const TONES: Readonly<Record<string, string>> = {
  Name: 'bg-part-1',
  Connect: 'bg-part-2',
  TLS: 'bg-part-3',
  'First byte': 'bg-part-4',
  Confirm: 'bg-part-4',
  Rest: 'bg-part-5',
  'No answer': 'bg-bad',
  'No confirm': 'bg-bad',
  'In all': 'bg-part-4',
};

interface Props {
  parts: readonly (readonly [name: string, ms: number])[];
  /** Other words for the names. */
  names?: Readonly<Record<string, string>>;
}

/** How long each part of a request took, in milliseconds, drawn to scale. */
export function TimingBar({ parts, names = {} }: Props) {
  const total = parts.reduce((sum, [, ms]) => sum + ms, 0);
  return (
    <div className="grid gap-1.5">
      <div className="flex h-2 w-full overflow-hidden rounded-sm bg-hover" aria-hidden="true">
        {parts.map(([name, ms]) => (
          <div key={name} className={TONES[name]} style={{ width: `${(100 * ms) / (total || 1)}%` }} />
        ))}
      </div>
      <ul className="flex flex-wrap gap-x-4 gap-y-0.5 text-xs text-muted">
        {parts.map(([name, ms]) => (
          <li key={name} className="inline-flex items-center gap-1.5">
            <span className={`size-2 rounded-sm ${TONES[name]}`} aria-hidden="true" />
            {names[name] ?? name} <span className="font-mono text-ink">{formatMs(ms)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

export function formatMs(ms: number): string {
  if (ms >= 10_000) return `${(ms / 1000).toFixed(1)} s`;
  return ms >= 10 ? `${Math.round(ms)} ms` : `${ms.toFixed(1)} ms`;
}
