import type { ReactNode } from 'react';
import { Link, withSearch } from '../ui/text/link.tsx';
import { useSite } from './site.ts';

interface Props {
  /** A page of the project, such as `endpoints/{id}`. */
  to: string;
  /** The filters of a list. */
  filters?: Readonly<Record<string, string | undefined>>;
  children: ReactNode;
}

/** A link to another page of the project, or of the portal. */
export const PageLink = ({ to, filters = {}, children }: Props) => (
  <Link className="link" href={withSearch(useSite().at(to), filters)}>
    {children}
  </Link>
);
