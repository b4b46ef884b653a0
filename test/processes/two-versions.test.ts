import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { SECRET_KEY, subscribe } from '../support/app.ts';
import type { ApiClient } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { EventStream, expectAll } from '../support/event-stream.ts';
import { clientOf, Program, readCredentials } from '../support/program.ts';
import { CONTRACT, EXPAND } from '../support/samples/made-up-migrations.ts';
import { madeUpVersion } from '../support/samples/made-up-version.ts';
import { Receiver } from '../support/servers/receiver.ts';

/** Real processes of this version and of two made-up ones that follow it, on one database. */
interface Node {
  program: Program;
  client: ApiClient;
}

class Fleet {
  readonly database: TestDatabase;
  readonly #dataDir: string;

  private constructor(database: TestDatabase) {
    this.database = database;
    this.#dataDir = mkdtempSync(join(tmpdir(), 'posthorn-versions-'));
    onTestFinished(() => rmSync(this.#dataDir, { recursive: true, force: true }));
  }

  static async make(): Promise<Fleet> {
    const database = await createTestDatabase();
    onTestFinished(() => database.stop());
    return new Fleet(database);
  }

  /** A node of this version, or of the one that the command runs. */
  async start(command?: string[]): Promise<Node> {
    const program = this.#program(command);
    const url = await program.ready();
    return { program, client: clientOf(url, readCredentials(this.#dataDir)) };
  }

  /** The line that a start is refused with. */
  async refusal(command?: string[]): Promise<string> {
    const program = this.#program(command);
    expect(await program.ended, program.stdout).toEqual({ code: 1, signal: null });
    return program.stderr.trim();
  }

  async migrations(): Promise<unknown[]> {
    const rows = await this.database.query("select name from schema_migrations where name >= '9' order by 1");
    return rows.map((row) => row['name']);
  }

  #program(command: string[] | undefined): Program {
    const program = new Program({
      ...(command === undefined ? {} : { command }),
      args: ['serve'],
      env: {
        DATABASE_URL: this.database.url,
        POSTHORN_SECRET_KEY: SECRET_KEY,
        POSTHORN_PORT: '0',
        POSTHORN_EGRESS: 'any',
        POSTHORN_LOG_LEVEL: 'silent',
        POSTHORN_DATA_DIR: this.#dataDir,
      },
    });
    onTestFinished(() => program.end());
    return program;
  }
}

async function stop({ program }: Node): Promise<void> {
  expect(await program.stop(), program.stderr).toEqual({ code: 0, signal: null });
}

test('nodes are updated one after another while events come in, and nothing is lost', {
  timeout: 300_000,
}, async () => {
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  const expanded = madeUpVersion({ '9998_expand.sql': EXPAND });
  const contracted = madeUpVersion({ '9998_expand.sql': EXPAND, '9999_contract.sql': CONTRACT });
  const fleet = await Fleet.make();
  const older = [await fleet.start(), await fleet.start()] as const;
  let { client } = older[0];
  await subscribe(client, receiver.url);
  const events = new EventStream({ post: (path, body) => client.post(path, body) });
  const sendTo = async (node: Node) => {
    ({ client } = node);
    await events.more(20);
  };
  await events.more(20);

  // The next version adds to the schema, under both.
  const next = await fleet.start(expanded);
  expect(await fleet.migrations()).toEqual(['9998_expand.sql']);
  await sendTo(next);
  await sendTo(older[1]);
  await stop(older[0]);
  // One step back: the older version starts on the newer schema.
  const again = await fleet.start();
  await sendTo(again);

  // The version after it removes something that the two older nodes use.
  expect(await fleet.refusal(contracted)).toMatch(
    /^posthorn: 9999_contract\.sql removes something that older nodes use, and 2 of them still run \(\w+, \w+\): update them to the version before this one first$/,
  );
  expect(await fleet.migrations()).toEqual(['9998_expand.sql']);
  await sendTo(next);
  await stop(again);
  await stop(older[1]);
  const last = await fleet.start(contracted);
  expect(await fleet.migrations()).toEqual(['9998_expand.sql', '9999_contract.sql']);
  await sendTo(next);
  await sendTo(last);
  await stop(next);
  expect(await fleet.refusal()).toMatch(
    /^posthorn: the database's schema is too new for this Posthorn: 9999_contract\.sql needs nodes that know migration 9998, and this one knows up to \d{4}; update Posthorn$/,
  );
  await events.more(20);
  await expectAll({ receiver, database: fleet.database }, await events.stop());
  await stop(last);
});
