import { setTimeout as pause } from 'node:timers/promises';
import { subscribe, type TestApp } from '../../support/app.ts';
import type { ApiClient, Json } from '../../support/client.ts';
import { Receiver } from '../../support/servers/receiver.ts';

/** Ten endpoints of five customers with different fates, and traffic for all of them. */
export interface Incident {
  project: ApiClient;
  endpoints: Json[];
  /** Sends events until the traffic is stopped. */
  startTraffic(everyMs: number): { stop(): Promise<void> };
  stop(): Promise<void>;
}

/** Path, customer, and settings of the endpoint. */
const FATES: readonly [name: string, path: string, owner: string, settings?: object][] = [
  ['Invoices', '/ok', 'acme'],
  ['Ledger', '/500', 'acme'],
  ['Orders', '/sometimes', 'globex'],
  ['Stock', '/401', 'globex'],
  ['Search index', '/slow', 'initech'],
  ['Warehouse', '/paused', 'initech'],
  ['Old shop', '/410', 'umbrella'],
  ['Mail', '/429', 'umbrella'],
  ['Sheets', '/limited', 'hooli', { rate_limit: 2, rate_limit_duration: 3 }],
  ['Chat', '/302', 'hooli'],
];

export async function startIncident(app: TestApp): Promise<Incident> {
  const receiver = await Receiver.start();
  let seen = 0;
  receiver.answerAlways(({ path }, response) => {
    seen += 1;
    const status = path === '/sometimes' ? (seen % 3 === 0 ? 503 : 200) : Number(path.slice(1)) || 200;
    response.writeHead(status);
    setTimeout(() => response.end(), path === '/slow' ? 50 : 0);
  });
  const project = await app.newProject({ strategy: { type: 'linear', duration: 5, retry_count: 2 } });
  const endpoints: Json[] = [];
  for (const [name, path, owner_id, settings] of FATES) {
    const { endpoint } = await subscribe(project, `${receiver.url}${path}`, {
      eventTypes: [name],
      endpoint: { name, owner_id, ...settings },
    });
    endpoints.push(endpoint);
    if (path === '/paused') await project.put(`/endpoints/${endpoint.uid}/pause`);
  }
  return {
    project,
    endpoints,
    startTraffic: (everyMs) => startTraffic(project, everyMs),
    stop: () => receiver.stop(),
  };
}

function startTraffic(project: ApiClient, everyMs: number): { stop(): Promise<void> } {
  const over = new AbortController();
  const sending = (async () => {
    for (let n = 0; !over.signal.aborted; n += 1) {
      const [name] = FATES[n % FATES.length] ?? FATES[0]!;
      await project.post('/events/broadcast', { event_type: name, data: { n } });
      await pause(everyMs);
    }
  })();
  return {
    stop: () => {
      over.abort();
      return sending;
    },
  };
}
