import { Agent, get } from 'node:http';
import { createHistogram } from 'node:perf_hooks';
import { answer } from './child.ts';
import { PORTAL_PAGES, type PortalRequest } from './portal-requests.ts';

/**
 * Open pages of the portal, in a process of their own. The readers are spread over the pages. Each repeats the requests
 * of its page over connections of its own, as a browser does, and begins at another moment. A request that is due while
 * the one before it is open is left out, also as the page does.
 */
export interface OpenPortals {
  url: string;
  links: { token: string; endpointId: string; deliveryId: string }[];
}

export interface PortalsReport {
  requests: number;
  refused: number;
  /** The first refusal, for the report. */
  refusal: string;
  p50Ms: number;
  p99Ms: number;
}

/** Fractions of its multiples are spread evenly, however many there are. */
const GOLDEN = 0.618_034;
const DAY_MS = 86_400_000;

class Readers {
  readonly #times = createHistogram();
  readonly #stops: (() => void)[] = [];
  #requests = 0;
  #refused = 0;
  #refusal = '';
  #isOpen = true;

  constructor({ url, links }: OpenPortals) {
    for (const [number, link] of links.entries()) {
      const agent = new Agent({ keepAlive: true });
      this.#stops.push(() => agent.destroy());
      const page = PORTAL_PAGES[number % PORTAL_PAGES.length] as readonly PortalRequest[];
      for (const [path, seconds] of page) {
        const send = () => {
          const date = new Date(Date.now() - DAY_MS).toISOString();
          const filled = path
            .replace('{endpoint}', link.endpointId)
            .replace('{delivery}', link.deliveryId)
            .replace('{date}', date);
          return this.#get(`${url}/portal-api${filled}`, { agent, token: link.token });
        };
        this.#repeat(send, seconds * 1000, (number * GOLDEN) % 1);
      }
    }
  }

  close(): PortalsReport {
    this.#isOpen = false;
    for (const stop of this.#stops) stop();
    return {
      requests: this.#requests,
      refused: this.#refused,
      refusal: this.#refusal,
      p50Ms: this.#times.percentile(50) / 1e3,
      p99Ms: this.#times.percentile(99) / 1e3,
    };
  }

  #repeat(send: () => Promise<void>, everyMs: number, offset: number): void {
    let isBusy = false;
    const tick = () => {
      if (isBusy) return;
      isBusy = true;
      void send().finally(() => {
        isBusy = false;
      });
    };
    let interval: NodeJS.Timeout | undefined;
    const first = setTimeout(() => {
      tick();
      interval = setInterval(tick, everyMs);
    }, offset * everyMs);
    this.#stops.push(() => {
      clearTimeout(first);
      clearInterval(interval);
    });
  }

  /** Resolves also if the request fails, which is counted. */
  #get(url: string, { agent, token }: { agent: Agent; token: string }): Promise<void> {
    const startedMs = performance.now();
    return new Promise((resolve) => {
      const failed = (reason: string) => {
        if (this.#isOpen) this.#refused += 1;
        if (this.#isOpen) this.#refusal ||= reason;
        resolve();
      };
      get(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', (error) => failed(error.message));
        response.on('end', () => {
          if (response.statusCode !== 200)
            return failed(`${url}: ${response.statusCode} ${Buffer.concat(chunks).toString().slice(0, 500)}`);
          this.#requests += 1;
          this.#times.record(Math.max(1, Math.round((performance.now() - startedMs) * 1e3)));
          resolve();
        });
      }).on('error', (error) => failed(`${url}: ${error.message}`));
    });
  }
}

let readers: Readers | undefined;

answer({
  open: (portals: OpenPortals) => {
    readers = new Readers(portals);
  },
  close: () => readers?.close(),
});
