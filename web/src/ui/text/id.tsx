import { CopyIcon } from './copy.tsx';

/** An id, shortened in the middle. It is whole on hover and when it is copied. */
export function Id({ value, what = 'id', copy = true }: { value: string; what?: string; copy?: boolean }) {
  if (value === '') return <span className="text-muted">–</span>;
  const short = value.length > 14 ? `${value.slice(0, 5)}…${value.slice(-6)}` : value;
  return (
    <span className="inline-flex items-center gap-0.5 font-mono text-xs whitespace-nowrap" title={value}>
      {short}
      {copy && <CopyIcon text={value} what={what} />}
    </span>
  );
}
