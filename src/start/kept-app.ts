import { setTimeout as sleep } from 'node:timers/promises';
import { INSTANCE } from '../domain/audit.ts';
import type { Logger } from '../platform/logger.ts';
import { insertAudit } from '../store/audit/audit-entries.ts';
import type { OldPrimaryAccepted, SeenServer } from '../store/database/servers/servers.ts';
import type { App } from './app.ts';
import type { Running } from './stop-in-time.ts';

/**
 * The app of a process. States:
 *   running -> an app serves;
 *   away    -> an old primary of a database was accepted. All that the app has in memory may be newer than the database:
 *              it was stopped at once, nothing of it is used again, and another one starts. Tried every TRY_MS.
 *   stopped -> for good.
 */
const TRY_MS = 5_000;

export class KeptApp implements Running {
  readonly #start: () => Promise<App>;
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  #app: App;
  #renewing: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;

  /** Fails if the first start does. */
  static async start(start: () => Promise<App>, log: Logger): Promise<KeptApp> {
    return new KeptApp(await start(), start, log);
  }

  private constructor(app: App, start: () => Promise<App>, log: Logger) {
    this.#start = start;
    this.#log = log;
    this.#app = app;
    this.#follow();
  }

  get url(): string {
    return this.#app.url;
  }

  get credentials(): App['credentials'] {
    return this.#app.credentials;
  }

  get nodes(): string[] {
    return this.#app.nodes;
  }

  metrics(): Promise<string> {
    return this.#app.metrics();
  }

  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop());
  }

  async #stop(): Promise<void> {
    this.#stopping.abort();
    await this.#renewing;
    await this.#app.stop();
  }

  #follow(): void {
    void this.#app.oldPrimaryAccepted.then((accepted) => {
      if (!this.#stopping.signal.aborted) this.#renewing = this.#renew(accepted);
    });
  }

  async #renew(accepted: OldPrimaryAccepted): Promise<void> {
    const { from, to } = accepted;
    const seen = { before: shown(from), after: shown(to) };
    this.#log.error(
      seen,
      'an old primary of the database was accepted: commits that only the newer one had are gone; this process begins again',
    );
    // A service that failed to stop is in the log.
    await this.#app.stop(performance.now()).catch(() => undefined);
    if (await this.#startAgain()) await this.#record(seen);
  }

  /** False: it was stopped before. */
  async #startAgain(): Promise<boolean> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        this.#app = await this.#start();
        this.#log.info({ url: this.url, nodes: this.nodes }, 'ready');
        this.#follow();
        return true;
      } catch (error) {
        this.#log.error({ err: error }, 'failed to begin again on an old primary; tried again in 5 s');
        await sleep(TRY_MS, undefined, { signal }).catch(() => undefined);
      }
    }
    return false;
  }

  async #record(seen: { before: object; after: object }): Promise<void> {
    const place = { ids: this.#app.changes.deps.ids, actor: INSTANCE, projectId: null };
    const note = { action: 'primary.accepted', resourceId: null, ...seen } as const;
    await insertAudit(this.#app.db, place, [note]).catch((error: unknown) =>
      this.#log.error({ err: error, ...seen }, 'failed to store an audit entry of an old primary'),
    );
  }
}

const shown = ({ server, timeline, lsn, seenAtMs }: SeenServer) => ({
  server,
  timeline,
  lsn,
  seen_at: new Date(seenAtMs).toISOString(),
});
