import type { ReactNode } from 'react';
import { useWords } from '../parts/words.ts';
import { at, hasTabs, usePlace } from './address.ts';
import type { Theme } from './theme.ts';

type LogoTheme = Pick<Theme, 'logo_url' | 'logo_url_dark' | 'color_scheme'>;

interface FrameProps {
  theme: LogoTheme;
  title: string;
  hasNav: boolean;
  /** A class for the least height. */
  height: string;
  children: ReactNode;
}

/** Everything around a page. */
export function Frame({ theme, title, hasNav, height, children }: FrameProps) {
  return (
    <div className={`mx-auto max-w-5xl px-4 pb-8 ${height}`}>
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1 pt-4">
        {theme.logo_url !== '' && <Logo theme={theme} />}
        <h1 className="text-lg break-words">{title}</h1>
      </header>
      {hasNav && hasTabs && <Tabs />}
      <main className="pt-4">{children}</main>
    </div>
  );
}

/** In the colours of the system the browser chooses between the two. */
function Logo({ theme: { logo_url, logo_url_dark, color_scheme } }: { theme: LogoTheme }) {
  const dark = logo_url_dark || logo_url;
  return (
    <picture>
      {color_scheme === 'auto' && <source media="(prefers-color-scheme: dark)" srcSet={dark} />}
      <img
        src={color_scheme === 'dark' ? dark : logo_url}
        alt=""
        referrerPolicy="no-referrer"
        className="h-8 max-w-40 object-contain"
      />
    </picture>
  );
}

/** On a phone the tabs scroll. scrollIntoView would scroll the page around a frame too. */
function showTab(tab: HTMLElement | null): void {
  const tabs = tab?.parentElement;
  if (tab !== null && tabs != null)
    tabs.scrollLeft = tab.offsetLeft - (tabs.clientWidth - tab.clientWidth) / 2;
}

/** They run to the edges of a phone and fade there, within the margin, so no tab is cut when it is in sight. */
const TABS =
  'relative -mx-4 mt-2 flex overflow-x-auto border-b border-line px-2 [mask-image:linear-gradient(to_right,transparent,black_1rem,black_calc(100%-1rem),transparent)] [scrollbar-width:none] sm:mx-0 sm:px-0 sm:[mask-image:none]';

function Tabs() {
  const { pages } = useWords();
  const { page } = usePlace();
  const tabs: [string, string][] = [
    ['endpoints', pages.endpoints],
    ['deliveries', pages.deliveries],
    ['types', pages.eventTypes],
    ['numbers', pages.numbers],
    ['verify', pages.verify],
  ];
  return (
    <nav className={TABS} aria-label={useWords().title}>
      {tabs.map(([name, label]) => (
        <a
          key={name}
          ref={page === name ? showTab : null}
          href={at(name)}
          aria-current={page === name ? 'page' : undefined}
          className={`shrink-0 border-b-2 px-2 py-2 whitespace-nowrap sm:px-3 ${page === name ? 'border-accent font-semibold text-ink' : 'border-transparent text-muted hover:text-ink'}`}
        >
          {label}
        </a>
      ))}
    </nav>
  );
}
