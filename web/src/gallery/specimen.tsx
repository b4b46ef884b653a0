import type { ReactNode } from 'react';

/** Words that are hard to set. */
export const LONG =
  'Erik Ångström & Söhne – Übergrößenträger für Straßenbahnschaffnerinnen, 株式会社ウェブフック';

/** One part, in light and in dark. */
export function Specimen({ name, children }: { name: string; children(): ReactNode }) {
  return (
    <section aria-label={name}>
      <h2 className="mb-2 text-base">{name}</h2>
      <div className="grid grid-cols-1 gap-4 lg:grid-cols-2">
        {(['[color-scheme:light]', '[color-scheme:dark]'] as const).map((scheme) => (
          <div
            key={scheme}
            className={`${scheme} grid min-w-0 grid-cols-1 content-start gap-4 rounded-md border border-line bg-ground p-4 text-ink`}
          >
            {children()}
          </div>
        ))}
      </div>
    </section>
  );
}

/** A row of small parts. */
export function Line({ children }: { children: ReactNode }) {
  return <div className="flex flex-wrap items-center gap-3">{children}</div>;
}
