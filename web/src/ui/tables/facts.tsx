import type { ReactNode } from 'react';

/** Names and values, in one or two columns. Values that are undefined are left out. */
export function Facts({ items }: { items: [name: string, value: ReactNode][] }) {
  return (
    <div className="@container">
      <dl className="grid grid-cols-1 gap-x-8 @xl:grid-cols-2 @5xl:grid-cols-3">
        {items
          .filter(([, value]) => value !== undefined)
          .map(([name, value]) => (
            <div key={name} className="flex min-h-8 min-w-0 items-baseline gap-3 border-b border-line py-1">
              <dt className="w-32 shrink-0 text-muted">{name}</dt>
              <dd className="min-w-0 flex-1 break-words">{value === '' || value === null ? '–' : value}</dd>
            </div>
          ))}
      </dl>
    </div>
  );
}
