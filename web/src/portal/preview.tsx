import { useEffect, useState } from 'react';
import { words as en } from '../parts/languages/en.ts';
import { MessagesContext } from '../parts/words.ts';
import { WordsContext } from '../ui/text/words.ts';
import { type EndpointLine, EndpointLines } from './endpoints/endpoint-lines.tsx';
import { Frame } from './frame.tsx';
import { loadWords } from './load-words.ts';
import { fontFamily, type Theme, themeVariables } from './theme.ts';

const NONE = {
  discarded: 0,
  waiting_for: {},
  failing_since: null,
  recovered_at: null,
  sent_since: 0,
  held_by: '',
  last_failure: null,
} as const;
const OK = { ...NONE, state: 'ok' } as const;

const SAMPLE: readonly EndpointLine[] = [
  {
    endpoint: {
      uid: '1',
      name: 'Billing',
      url: 'https://billing.example.com/webhooks',
      broker: null,
      ...OK,
    },
    health: { ...NONE, state: 'ok', delivered: 1284, failed: 0 },
  },
  {
    endpoint: {
      uid: '2',
      name: 'CRM',
      url: 'https://crm.example.com/hooks',
      broker: null,
      ...OK,
    },
    health: { ...NONE, state: 'failing', delivered: 96, failed: 12, waiting_for: { circuit_breaker: 3 } },
  },
];

const SCHEMES = { auto: 'light dark', light: 'light', dark: 'dark' } as const;

/** The portal page with sample data in a theme. Nothing in it can be pressed. */
export function PortalPreview({ theme }: { theme: Theme }) {
  const [words, setWords] = useState(en);
  useEffect(() => {
    void loadWords(theme.language).then(setWords);
  }, [theme.language]);
  return (
    <MessagesContext.Provider value={words}>
      <WordsContext.Provider value={words.ui}>
        <div
          inert
          style={{
            ...themeVariables(theme),
            fontFamily: fontFamily(theme),
            colorScheme: SCHEMES[theme.color_scheme],
          }}
          className="overflow-hidden rounded-md border border-frame bg-ground text-ink"
        >
          <Frame
            // The policy of the dashboard loads no image of others.
            theme={{ ...theme, logo_url: '' }}
            title={theme.title === '' ? words.title : theme.title}
            hasNav
            height="min-h-64"
          >
            <div className="mb-3 flex justify-end">
              <span className="inline-flex h-8 items-center rounded-md bg-accent-ground px-3 font-semibold text-on-accent">
                {words.endpoints.add}
              </span>
            </div>
            <EndpointLines endpoints={SAMPLE} />
          </Frame>
        </div>
      </WordsContext.Provider>
    </MessagesContext.Provider>
  );
}
