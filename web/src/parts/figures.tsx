import type { ReactNode } from 'react';
import { Link } from '../ui/text/link.tsx';
import { useOldSince } from './service-watch.tsx';

export interface Figure {
  name: ReactNode;
  value: string;
  /** The unit of the value, or why there is none. */
  note: string;
  /** The page with the rows behind the value. */
  href?: string;
  /** It asks for attention. */
  isBad?: boolean;
}

/** Numbers side by side, as many as fit. The link of one covers its cell. */
export function Figures({ label, figures }: { label: string; figures: readonly Figure[] }) {
  const old = useOldSince();
  return (
    <ul
      aria-label={label}
      className="grid grid-cols-[repeat(auto-fit,minmax(8rem,1fr))] border-t border-l border-line"
    >
      {figures.map(({ name, value, note, href, isBad = false }, index) => {
        const text = (
          <>
            <span className="block truncate text-muted">{name}</span>
            <span
              className={`block text-lg font-semibold ${old !== undefined ? 'text-muted' : isBad ? 'text-bad' : ''}`}
            >
              {value}
            </span>
            <span className="block truncate text-xs text-muted">{old ?? note}</span>
          </>
        );
        return (
          <li
            key={index}
            className="relative min-w-0 border-r border-b border-line p-3 has-[a]:hover:bg-hover"
          >
            {href === undefined ? (
              text
            ) : (
              <Link {...{ href }} className="after:absolute after:inset-0">
                {text}
              </Link>
            )}
          </li>
        );
      })}
    </ul>
  );
}
