import { type ComponentProps, createContext, type MouseEvent, useContext } from 'react';

/** Goes to another page. The dashboard brings its router; in the portal a page is a part of the address. */
export const GoContext = createContext<(href: string) => void>((href) => location.assign(href));
export const useGo = (): ((href: string) => void) => useContext(GoContext);

/** A link inside the page. Modified clicks do what the browser does. */
export function Link({ href, onClick, children, ...rest }: ComponentProps<'a'> & { href: string }) {
  const go = useGo();
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(href);
  };
  return (
    <a href={href} onClick={follow} {...rest}>
      {children}
    </a>
  );
}

/** A path with search parameters. Empty ones are left out. */
export function withSearch(path: string, search: Readonly<Record<string, string | undefined>>): string {
  const pairs = Object.entries(search).filter((pair): pair is [string, string] => (pair[1] ?? '') !== '');
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs).toString()}`;
}
