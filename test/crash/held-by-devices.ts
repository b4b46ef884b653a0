import type { ServerResponse } from 'node:http';
import { expect, type TestContext } from 'vitest';
import { Listener } from '../pull/listener.ts';
import type { ApiClient } from '../support/client.ts';
import type { TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { Program } from '../support/program.ts';
import { Receiver } from '../support/servers/receiver.ts';

const LISTEN = { event_types: ['device'], host_name: 'device' };

/** Two devices on a node that is killed while each has a delivery: a plain connection, and `posthorn listen`. */
export class HeldByDevices {
  readonly #other: ApiClient;
  readonly #device: Listener;
  readonly #command: Program;
  /** The request that the local program has not answered yet. */
  readonly #asked = Promise.withResolvers<ServerResponse>();
  readonly deliveries = 2;

  private constructor(other: ApiClient, made: { device: Listener; command: Program; local: Receiver }) {
    this.#other = other;
    this.#device = made.device;
    this.#command = made.command;
    made.local.answerNext((_request, response) => this.#asked.resolve(response));
  }

  static async connect(
    { onTestFinished }: TestContext,
    { killed, other }: { killed: ApiClient; other: ApiClient },
  ): Promise<HeldByDevices> {
    const local = await Receiver.start();
    onTestFinished(() => local.stop());
    const command = new Program({
      args: ['listen', '--forward-to', local.url, '--event-type', 'laptop', '--name', 'laptop'],
      env: { POSTHORN_URL: new URL(killed.base).origin, POSTHORN_API_KEY: killed.key },
    });
    onTestFinished(() => command.end());
    const device = await Listener.start(killed, LISTEN);
    await eventually(async () => command.stderr, /Listening as device/);
    return new HeldByDevices(other, { device, command, local });
  }

  /** Each device has a delivery from now on. */
  async hold(): Promise<void> {
    for (const event_type of ['device', 'laptop'])
      await this.#other.post('/events/broadcast', { event_type, data: {} });
    await this.#device.first('delivery');
    await this.#asked.promise;
  }

  /** After the kill: one device goes to the other node, and the command waits for its own. */
  async comeBack(database: TestDatabase, restart: () => Promise<unknown>): Promise<void> {
    // The local program answers while no node is there. The command keeps the result.
    (await this.#asked.promise).writeHead(200).end();
    const held = this.#device.of('delivery')[0];
    const next = await Listener.start(this.#other, LISTEN);
    await database.query(
      'update delivery_queue set due_at = now() where delivery_id = $1 and pulled_at is not null',
      [held.uid],
    );
    const again = await next.first('delivery');
    expect(again).toMatchObject({ uid: held.uid, attempt: 2 });
    next.answer(again);
    expect(await next.first('recorded')).toMatchObject({ state: 'recorded' });
    await next.close();
    await restart();
    await eventually(async () => this.#command.stderr, /connected again/);
    await eventually(() => this.#other.get('/eventdeliveries?eventType=laptop'), {
      content: [{ status: 'Success' }],
    });
  }
}
