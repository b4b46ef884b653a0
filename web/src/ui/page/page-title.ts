import { createContext, useContext, useEffect } from 'react';

/** The name of the site, which stands behind the title of each page. */
export const SiteNameContext = createContext('');

/**
 * Names the window after the page. A list and its open row have a heading each: the last one in the document counts.
 * Headings with the attribute `data-page-title` are looked at, since effects of the two run in no fixed order.
 */
export function usePageTitle(): void {
  const site = useContext(SiteNameContext);
  useEffect(() => {
    const name = () => {
      const heading = [...document.querySelectorAll('[data-page-title]')].at(-1)?.textContent;
      document.title = heading === undefined ? site : `${heading} · ${site}`;
    };
    name();
    return name;
  });
}
