import type { Logger } from '../platform/logger.ts';

/** A part of a node that runs. */
export interface Service {
  readonly name: string;
  /** Absent: it runs since it was made. */
  start?(): Promise<void>;
  /** `stopBy`: the end of the grace, by `performance.now()`. It is called once, also after a start that failed. */
  stop(stopBy: number): Promise<void>;
}

/**
 * The services of a node, from the ground up. They start in this order and stop in the reverse. A start that fails stops
 * those that run already, so that what was sent is recorded and what is leased goes back.
 */
export class Services {
  readonly #services: readonly Service[];
  readonly #log: Logger;
  readonly #graceMs: number;
  #running: Service[];
  #stopped: Promise<void> | undefined;

  constructor(services: readonly Service[], { log, graceMs }: { log: Logger; graceMs: number }) {
    this.#services = services;
    this.#log = log;
    this.#graceMs = graceMs;
    this.#running = services.filter(({ start }) => start === undefined);
  }

  async start(): Promise<void> {
    try {
      for (const service of this.#services) {
        if (service.start === undefined) continue;
        this.#running.push(service);
        await service.start();
      }
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Safe to call twice. One that fails to stop does not keep the others running. */
  stop(stopBy = performance.now() + this.#graceMs): Promise<void> {
    return (this.#stopped ??= this.#stopAll(stopBy));
  }

  async #stopAll(stopBy: number): Promise<void> {
    const running = new Set(this.#running);
    const failed: unknown[] = [];
    for (const service of this.#services.toReversed()) {
      if (!running.has(service)) continue;
      await service.stop(stopBy).catch((error: unknown) => {
        this.#log.error({ err: error, service: service.name }, 'failed to stop a service');
        failed.push(error);
      });
    }
    if (failed.length > 0) throw failed[0];
  }
}
