import type { ReactNode } from 'react';

/** A page that scrolls as a whole. */
export function PageBody({ children }: { children: ReactNode }) {
  return <div className="h-full overflow-auto px-4 pt-3 pb-10">{children}</div>;
}
