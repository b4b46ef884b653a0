import '@fontsource-variable/inter';
import '../app/styles.css';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode, useEffect, useMemo, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { whenBack } from '../data/service/service.ts';
import { ClashProvider } from '../parts/forms/clashes.tsx';
import type { Messages } from '../parts/languages/en.ts';
import { SiteContext } from '../parts/site.ts';
import { MessagesContext } from '../parts/words.ts';
import { ToastProvider } from '../ui/controls/toast.tsx';
import { WordsContext } from '../ui/text/words.ts';
import { listenToHost, useHostTheme } from './host.ts';
import { loadWords } from './load-words.ts';
import { portalSite } from './portal-site.ts';
import { takeTokenOfAddress } from './session.ts';
import { Shell } from './shell.tsx';
import { DEFAULT_THEME, fontFamily, type Theme, themeVariables, withHostTheme } from './theme.ts';

const queries = new QueryClient({
  defaultOptions: { queries: { retry: false, staleTime: 1000 }, mutations: { retry: false } },
});

whenBack(() => void queries.invalidateQueries());

/** The theme that the server wrote into the document. */
function themeOfDocument(): Theme {
  const content = document.querySelector<HTMLMetaElement>('meta[name=theme]')?.content ?? '';
  return content === '' ? DEFAULT_THEME : { ...DEFAULT_THEME, ...(JSON.parse(content) as Theme) };
}

/** Sets the theme of the whole document. The policy of the page allows no style in HTML, and this is not one. */
function applyTheme(theme: Theme): void {
  const root = document.documentElement;
  for (const [name, value] of Object.entries(themeVariables(theme))) root.style.setProperty(name, value);
  root.style.fontFamily = fontFamily(theme);
  if (theme.color_scheme === 'auto') delete root.dataset['theme'];
  else root.dataset['theme'] = theme.color_scheme;
}

function nameLanguage({ ui }: Messages): void {
  document.documentElement.lang = ui.locale.slice(0, 2);
}

function Portal({ first, firstWords }: { first: Theme; firstWords: Messages }) {
  const given = useHostTheme();
  const theme = useMemo(() => withHostTheme(first, given), [first, given]);
  const [words, setWords] = useState(firstWords);
  const site = useMemo(() => portalSite(words), [words]);
  useEffect(() => nameLanguage(words), [words]);
  useEffect(() => {
    applyTheme(theme);
    void loadWords(theme.language).then(setWords);
  }, [theme]);
  return (
    <MessagesContext.Provider value={words}>
      <WordsContext.Provider value={words.ui}>
        <ToastProvider>
          <SiteContext.Provider value={site}>
            <ClashProvider>
              <Shell theme={theme} />
            </ClashProvider>
          </SiteContext.Provider>
        </ToastProvider>
      </WordsContext.Provider>
    </MessagesContext.Provider>
  );
}

takeTokenOfAddress();
// Another link was opened in the same tab. The data of the first one is forgotten.
addEventListener('hashchange', () => {
  if (takeTokenOfAddress()) void queries.resetQueries();
});

const theme = themeOfDocument();
listenToHost(theme.frame_origins);
applyTheme(theme);
const words = await loadWords(theme.language);
nameLanguage(words);
const root = document.querySelector('#root');
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <Portal first={theme} firstWords={words} />
      </QueryClientProvider>
    </StrictMode>,
  );
