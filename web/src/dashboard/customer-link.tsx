import { useProject } from '../data/project.ts';
import { Link } from '../ui/text/link.tsx';

interface Props {
  owner: string;
  /** The text where there is no customer. */
  none?: string;
  onClick?(): void;
}

/** The name of a customer, which leads to their page. In a list it lies above the link that covers the row. */
export function CustomerLink({ owner, none = '–', onClick }: Props) {
  const { at } = useProject();
  if (owner === '') return none === '' ? null : <span className="text-muted">{none}</span>;
  const href = at(`customers/${encodeURIComponent(owner)}`);
  return (
    <Link className="link relative z-10" title={owner} {...{ href, onClick }}>
      {owner}
    </Link>
  );
}

interface SeveralProps {
  owners: readonly string[];
  most: number;
  /** The one that the reader looks for. */
  wanted?: string | undefined;
}

/** Several customers: the first ones, and how many more. */
export function CustomerLinks({ owners, most, wanted }: SeveralProps) {
  if (owners.length === 0) return <CustomerLink owner="" />;
  const more = owners.length - most;
  const sorted = owners.toSorted((a, b) => Number(b === wanted) - Number(a === wanted));
  return (
    <>
      {sorted.slice(0, most).map((owner, index) => (
        <span key={owner}>
          {index > 0 && ', '}
          <CustomerLink owner={owner} />
        </span>
      ))}
      {more > 0 && <span className="text-muted"> and {more.toLocaleString('en')} more</span>}
    </>
  );
}
