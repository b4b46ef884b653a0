/**
 * The main file of one of several processes. The primary controls it, and it ends when the primary ends
 * (node:cluster ensures this: the channel between them closes). The primary handles signals to the whole
 * process group.
 */

import { createLogger, type Logger } from '../platform/logger.ts';
import { collectWhenIdle } from '../platform/memory/idle-collector.ts';
import { StartupError } from '../platform/startup-error.ts';
import { type Config, readConfig } from '../settings/settings.ts';
import { startApp } from '../start/app.ts';
import { KeptApp } from '../start/kept-app.ts';
import type { Shared } from '../start/node.ts';
import { onStrayRejection, STRAY_REJECTION, stopInTime } from '../start/stop-in-time.ts';
import type { FromWorker, ToWorker } from './messages.ts';

type Start = Extract<ToWorker, { type: 'start' }>;

class WorkerMain {
  readonly #pages = new Map<number, (page: string | null) => void>();
  #app: Promise<KeptApp> | undefined;
  #problem: string | null = 'still starting';
  #requests = 0;

  hear(message: ToWorker): void {
    switch (message.type) {
      case 'start':
        return void this.#start(message);
      case 'readiness':
        this.#problem = message.problem;
        return;
      case 'render':
        return void this.#render(message.request);
      case 'page':
        this.#pages.get(message.request)?.(message.page);
        this.#pages.delete(message.request);
        return;
      case 'stop':
        return void this.#stop();
    }
  }

  readonly #config: Config = readConfig(process.env);
  #log: Logger = createLogger(this.#config.logLevel);

  constructor() {
    onStrayRejection((error) => {
      this.#log.error({ err: error }, STRAY_REJECTION);
      void this.#stop();
    });
  }

  async #start({ number, connection }: Start): Promise<void> {
    this.#log = this.#log.child({ process: number });
    const shared: Shared = {
      number,
      connection,
      problem: () => this.#problem,
      metricsOfAll: () => this.#metricsOfAll(),
    };
    this.#app = KeptApp.start(() => startApp(this.#config, this.#log, shared), this.#log);
    try {
      const { url, credentials, nodes } = await this.#app;
      send({ type: 'started', url, credentials, nodeId: nodes[0] ?? '' });
    } catch (error) {
      const { message, stack } = error as Error;
      const reason = error instanceof StartupError ? message : (stack ?? message);
      process.send?.({ type: 'failed', reason } satisfies FromWorker, () => process.exit(1));
    }
  }

  async #render(request: number): Promise<void> {
    let page = '';
    try {
      page = (await (await this.#app)?.metrics()) ?? '';
    } catch (error) {
      this.#log.warn({ err: error }, 'failed to collect the metrics of this process');
    }
    send({ type: 'rendered', request, page });
  }

  async #metricsOfAll(): Promise<string> {
    const request = ++this.#requests;
    const answer = new Promise<string | null>((resolve) => this.#pages.set(request, resolve));
    send({ type: 'metrics', request });
    const page = await answer;
    if (page === null) throw new Error('the metrics of all processes could not be collected');
    return page;
  }

  async #stop(): Promise<void> {
    try {
      const app = await this.#app;
      if (app !== undefined) await stopInTime(app, this.#config, this.#log);
    } catch (error) {
      this.#log.error({ err: error }, 'failed to stop');
      process.exit(1);
    }
  }
}

function send(message: FromWorker): void {
  process.send?.(message);
}

process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
collectWhenIdle();
const main = new WorkerMain();
process.on('message', (message: ToWorker) => main.hear(message));
