import type { ReactNode } from 'react';
import { usePageTitle } from './page-title.ts';

export function Section({
  title,
  aside,
  children,
}: {
  title: string;
  aside?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className="mt-6">
      <div className="mb-2 flex min-h-8 flex-wrap items-center justify-between gap-2">
        <h2 className="text-base">{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  );
}

interface Head {
  title: ReactNode;
  /** A page in a frame with a title of its own begins one level below. */
  heading?: 'h1' | 'h2';
  /** Shown next to the title, such as a state. */
  beside?: ReactNode;
  children?: ReactNode;
}

export function PageHead({ title, heading: Heading = 'h1', beside, children }: Head) {
  usePageTitle();
  return (
    <header className="mb-3 flex min-h-10 flex-wrap items-center justify-between gap-x-4 gap-y-2">
      <div className="flex min-w-0 flex-wrap items-center gap-x-3">
        <Heading data-page-title className="min-w-0 text-lg break-words">
          {title}
        </Heading>
        {beside}
      </div>
      {children !== undefined && <div className="flex flex-wrap items-center gap-2">{children}</div>}
    </header>
  );
}
