import { CopyIcon } from './copy.tsx';
import { Link } from './link.tsx';

interface Props {
  value: string;
  what?: string;
  copy?: boolean;
  /** The page of what it names. */
  href?: string;
}

/** An id, shortened in the middle. It is whole on hover and when it is copied. */
export function Id({ value, what = 'id', copy = true, href }: Props) {
  if (value === '') return <span className="text-muted">–</span>;
  const short = value.length > 14 ? `${value.slice(0, 5)}…${value.slice(-6)}` : value;
  return (
    <span className="inline-flex items-center gap-0.5 font-mono text-xs whitespace-nowrap" title={value}>
      {href === undefined ? (
        short
      ) : (
        <Link className="link" href={href}>
          {short}
        </Link>
      )}
      {copy && <CopyIcon text={value} what={what} />}
    </span>
  );
}
