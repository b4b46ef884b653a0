import type { Json } from '../../support/client.ts';

/** The places that show numbers: what is read off the page, and what the answer behind it says. */
export interface Place {
  name: string;
  /** The address of the answer that the place is drawn from. */
  answer: RegExp;
  /** A script that reads one text per row. */
  read: string;
  expected(answer: Json): string[];
}

const count = (value: number): string => value.toLocaleString('en');
const percent = (value: number | null): string => {
  if (value === null) return '–';
  return `${value > 0 && value < 1 ? value.toFixed(1) : Math.round(value)} %`;
};
const ms = (value: number | undefined): string => {
  if (value === undefined) return '–';
  if (value >= 10_000) return `${(value / 1000).toFixed(1)} s`;
  return value >= 10 ? `${Math.round(value)} ms` : `${value.toFixed(1)} ms`;
};
const plural = (value: number, noun: string): string => `${count(value)} ${noun}${value === 1 ? '' : 's'}`;

/** The numbers below an endpoint in trouble. */
function troubleText(health: Json, time = ''): string {
  const { waiting_for: waiting, attempts, failed_share: share, failed, discarded } = health;
  const gates: [string, string][] = [
    ['retry', 'waiting to retry'],
    ['circuit_breaker', 'held by the circuit breaker'],
    ['paused', 'held by the pause'],
    ['rate_limit', 'throttled'],
  ];
  return [
    ...gates.flatMap(([gate, words]) => (waiting[gate] > 0 ? [`${count(waiting[gate])} ${words}`] : [])),
    ...(attempts > 0 ? [`${percent(share)} of ${plural(attempts, 'attempt')} failed${time}`] : []),
    ...(failed > 0 ? [`${count(failed)} failed`] : []),
    ...(discarded > 0 ? [`${count(discarded)} discarded`] : []),
  ].join(', ');
}

const troubled = ({ endpoints }: Json): Json[] =>
  endpoints.filter(({ state, open }: Json) =>
    state === 'held' ? open > 0 : !['ok', 'recovered'].includes(state),
  );
const figures = (
  label: string,
) => `[...document.querySelectorAll('ul[aria-label="${label}"] > li')].map((li) =>
  [...li.querySelectorAll('span')].slice(0, 2).map(({ textContent }) => textContent).join(' '))`;
const table = (label: string, names: readonly string[]) =>
  `[...document.querySelectorAll('[role=region][aria-label="${label}"] tbody tr')].map((row) =>
    ${JSON.stringify(names)}.map((name) => row.querySelector('[data-name="' + name + '"]').textContent).join(' | '))`;

export const places: Record<'overview' | 'endpoints' | 'customers' | 'failures' | 'endpoint', Place[]> = {
  overview: [
    {
      name: 'endpoints in trouble',
      answer: /\/health\?.*limit=10$/,
      read: `[...document.querySelectorAll('ul[aria-label="Endpoints in trouble"] > li')].map((li) =>
        li.querySelector('a').textContent + ': ' +
        [...[...li.querySelectorAll('p')].at(-1).children].map(({ textContent }) => textContent).join(', '))`,
      expected: (health) => troubled(health).map((one) => `${one.name}: ${troubleText(one)}`),
    },
    {
      name: 'figures',
      answer: /\/timeseries\?/,
      read: figures('Statistics'),
      expected: ({ totals }) => [
        `Accepted, about ${count(totals.accepted)}`,
        `Delivered ${count(totals.delivered)}`,
        `Failed attempts ${count(totals.failed_attempts)}`,
        `Failed ${count(totals.failed)}`,
        `p50 latency ${ms(totals.latency?.p50)}`,
        `p99 latency ${ms(totals.latency?.p99)}`,
      ],
    },
    {
      name: 'open deliveries',
      answer: /\/waitingtotals$/,
      read: `${figures('Open deliveries')}.slice(0, 4)`,
      expected: (waiting) => [
        `Waiting to retry ${count(waiting.retry)}`,
        `Held ${count(waiting.circuit_breaker + waiting.paused)}`,
        `Scheduled ${count(waiting.node + waiting.rate_limit + waiting.pull)}`,
        `In flight ${count(waiting.sending)}`,
      ],
    },
  ],
  endpoints: [
    {
      name: 'endpoints',
      answer: /\/health\?.*limit=1000$/,
      read: `(() => {
        const names = [...document.querySelectorAll('[role=columnheader]')].map(({ textContent }) => textContent);
        return [...document.querySelectorAll('[data-row]')].map((row) => {
          const cells = [...row.querySelectorAll('[role=cell]')].map(({ textContent }) => textContent);
          const [name] = cells[0].split(',');
          return [name, ...['Failed, 24 h', 'Open'].map((column) => cells[names.indexOf(column)])].join(' | ');
        }).toSorted();
      })()`,
      expected: ({ endpoints }) =>
        endpoints
          .map((one: Json) => [one.name, percent(one.failed_share), count(one.open)].join(' | '))
          .toSorted(),
    },
  ],
  customers: [
    {
      name: 'customers',
      answer: /\/health\?.*by=customer/,
      read: table('Customers', [
        'Customer',
        'Endpoints failing',
        'Open deliveries',
        'Failed attempts',
        'Share',
      ]),
      expected: ({ customers }) =>
        customers.map((one: Json) =>
          [
            one.owner_id || 'no customer',
            `${one.failing_endpoints} of ${one.endpoints}`,
            count(one.open),
            count(one.failed_attempts),
            percent(one.failed_share),
          ].join(' | '),
        ),
    },
  ],
  failures: [
    {
      name: 'failures',
      answer: /\/failures\?/,
      read: table('Failures', ['Endpoint', 'Failed', 'Waiting to retry']),
      expected: ({ groups }) =>
        groups.map((one: Json) =>
          [
            one.endpoint_name,
            one.failed === 0 ? '0' : `${count(one.failed)} failed`,
            one.retrying === 0 ? '0' : `${count(one.retrying)}${one.at_least ? '+' : ''} waiting`,
          ].join(' | '),
        ),
    },
  ],
  endpoint: [
    {
      name: 'the cause',
      answer: /\/health\?.*endpointId=/,
      read: `[...document.querySelectorAll('section[aria-label="What is wrong"]')].map((box) =>
        [...[...box.querySelectorAll('p')].at(-1).children].map(({ textContent }) => textContent).join(', '))`,
      expected: (health) => troubled(health).map((one) => troubleText(one, ' in the last 24 h')),
    },
    {
      name: 'the last day',
      answer: /\/timeseries\?.*endpointId=/,
      read: figures('Statistics'),
      expected: ({ totals }) => [
        `Accepted, about ${count(totals.accepted)}`,
        `Delivered ${count(totals.delivered)}`,
        `Failed ${count(totals.failed)}`,
        `p50 latency ${ms(totals.latency?.p50)}`,
        `p99 latency ${ms(totals.latency?.p99)}`,
      ],
    },
  ],
};
